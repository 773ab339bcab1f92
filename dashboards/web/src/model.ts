// What is known of one fabric: its graph, the interval that is shown, what led to it. All
// its questions end when another fabric is chosen, so that no answer meets a graph that
// it is not of.
import { isAbort, OfFabric, Problem } from "./api.ts";
import { Graph } from "./graph.ts";
import type { FabricSummary, History, Job, Snapshot, Span, Status } from "./types.ts";

/** Interval is one as it is shown: the values of links by metric, NaN where not measured. */
export interface Interval { now: Omit<Snapshot, "values">; values: Record<string, Float32Array>; graph: Graph }

const usual = 240; // intervals on the time strip
const most = 10_000;
const kept = 24; // intervals of the past, for stepping and playing

export class Model {
  readonly api: OfFabric;
  private readonly abort = new AbortController();
  private readonly graphs = new Map<string, Promise<Graph>>();
  private readonly seen = new Map<string, Interval>();
  private busy = false;
  private again = false;
  interval: Interval | null = null;
  other: Interval | null = null; // with which it is compared
  history: History = { states: [], events: [] };
  status: Status | null = null;
  asked = Date.now(); // when the status was asked for
  jobs: Job[] = [];
  truncated = false;
  loaded = false;

  constructor(readonly fabric: FabricSummary) { this.api = new OfFabric(fabric.name, this.abort.signal); }

  close() { this.abort.abort(); this.seen.clear(); }
  get closed() { return this.abort.signal.aborted; }

  private graphOf(version: string): Promise<Graph> {
    let g = this.graphs.get(version);
    if (!g) {
      g = this.api.graph(version).then((g) => new Graph(g));
      g.catch(() => this.graphs.delete(version));
      if (this.graphs.size > 3) this.graphs.clear();
      this.graphs.set(version, g);
    }
    return g;
  }

  /** graph is the graph in force, before anything is stored. */
  graph = () => this.graphOf(this.fabric.graph_version);

  private async made(answer: Snapshot): Promise<Interval> {
    const graph = await this.graphOf(answer.graph_version), values: Interval["values"] = {};
    for (const [metric, list] of Object.entries(answer.values)) {
      const v = values[metric] = new Float32Array(graph.size);
      for (let i = 0; i < v.length; i++) v[i] = list[i] ?? NaN;
    }
    const { values: _, ...now } = answer;
    return { now, values, graph };
  }

  /** at is the interval of a time, from memory if it was shown lately. */
  async at(time: string, least: string): Promise<Interval | null> {
    const key = time + least, had = this.seen.get(key);
    if (had) return had;
    const answer = await this.api.snapshot(time, least);
    if (!answer) return null;
    const made = await this.made(answer);
    if (this.seen.size >= kept) this.seen.delete(this.seen.keys().next().value!);
    this.seen.set(key, made);
    return made;
  }

  /** refresh asks for all that is shown; while it does, a further call makes it ask once more. */
  async refresh(at: string, compare: string, least: string, span: string): Promise<boolean> {
    if (this.busy) { this.again = true; return false; }
    this.busy = true;
    try {
      const [interval, history, status] = await Promise.all([
        at ? this.at(at, least) : this.api.snapshot(undefined, least).then((n) => n && this.made(n)),
        this.past(span, least), this.api.status(),
      ]);
      this.other = compare ? await this.at(compare, least) : null;
      this.status = status;
      this.asked = Date.now();
      this.history = history;
      this.interval = interval;
      if (interval) {
        const jobs = await this.api.jobsAt(interval.now.interval.start);
        this.jobs = jobs.jobs;
        this.truncated = jobs.truncated;
      } else if (!this.loaded) await this.graph();
      this.loaded = true;
      return true;
    } finally { this.busy = false; }
  }

  /** takeAgain says whether a refresh was asked for while one ran. */
  takeAgain(): boolean { const a = this.again; this.again = false; return a; }

  /** past is what the time strip shows: the latest intervals, or those of so many seconds. */
  private async past(seconds: string, least: string): Promise<History> {
    const intervals = Math.min(most, Number(seconds) > 0 ? Math.max(2, Math.round(Number(seconds) / this.fabric.interval_seconds)) : usual), range: Span = { intervals };
    const [network, events] = await Promise.all([this.api.network(range), this.api.events(range, least)]);
    return { states: network.states, events: events.events };
  }

  async askStatus() {
    this.asked = Date.now();
    try {
      this.status = await this.api.status();
      this.asked = Date.now();
    } catch (e) {
      if (isAbort(e)) return;
      this.status = { network: { state: "Unknown", next: null, later: null, unknown: { reason: "no answer of the server", since: this.interval?.now.interval.end ?? "", detail: (e as Problem).message } }, end: null, age_seconds: null, live: false };
    }
  }

  graphInUse = () => this.interval?.graph ?? null;
}
