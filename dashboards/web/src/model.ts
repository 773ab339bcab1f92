// What is known of one fabric: its graph, the interval that is shown, what led to it. All
// its questions end when another fabric is chosen, so that no answer meets a graph that
// it is not of.
import { isAbort, OfFabric, Problem } from "./api.ts";
import { Graph } from "./graph.ts";
import { Past, type Wanted } from "./time/past.ts";
import { iso } from "./format.ts";
import type { FabricEvent, FabricSummary, Job, Snapshot, Status } from "./types.ts";

/** Interval is one as it is shown: the values of links by metric, NaN where not measured. */
export interface Interval { now: Omit<Snapshot, "values">; values: Record<string, Float32Array>; graph: Graph }

const recentEvents = 40;
const statusPatience = 8_000; // ms without an answer from which on the state is unknown
const day = 86_400_000;
const bulk = 20_000; // links from which on the values of an interval come as Arrow
const kept = 24; // intervals of the past, for stepping and playing
const keptValues = 4e6; // links of all of them, and two at least
const keptFor = 60_000; // milliseconds: late readings make another revision of an interval

/** latestRuns keeps of each job id the run that started last: a requeued job, or one whose end was never heard of, is listed once. */
function latestRuns(jobs: Job[]): Job[] {
  const latest = new Map<string, Job>();
  for (const j of jobs) { const other = latest.get(j.job_id); if (!other || j.start > other.start) latest.set(j.job_id, j); }
  return jobs.filter((j) => latest.get(j.job_id) === j);
}

export class Model {
  readonly api: OfFabric;
  private readonly abort = new AbortController();
  private readonly graphs = new Map<string, Promise<Graph>>();
  private readonly seen = new Map<string, { asked: number; interval: Interval }>();
  private busy = false;
  private again = false;
  interval: Interval | null = null;
  of = ""; // the instant that was asked for; empty: the newest
  other: Interval | null = null; // with which it is compared
  readonly past: Past;
  events: FabricEvent[] = []; // that led to the instant that is shown
  private eventsOf = "";
  readonly names = new Map<string, string>(); // of regions that ended, by id
  private named = 0; // when they were asked for
  status: Status | null = null;
  asked = Date.now(); // when the status was last asked for
  answered = Date.now(); // and when it came
  jobs: Job[] = [];
  truncated = false;
  loaded = false;

  constructor(readonly fabric: FabricSummary) {
    this.api = new OfFabric(fabric.name, this.abort.signal);
    this.past = new Past(this.api, fabric);
  }

  /** compared are the two intervals of a comparison, the earlier first. */
  get compared(): [Interval, Interval] | null {
    const { interval, other } = this;
    return interval && other && (Date.parse(other.now.interval.start) > Date.parse(interval.now.interval.start) ? [interval, other] : [other, interval]);
  }

  /** newest is the end of the newest interval in milliseconds, as far as it is known. */
  get newest() { return this.status?.end ? Date.parse(this.status.end) : this.interval ? Date.parse(this.interval.now.interval.end) : Date.now(); }

  /** behind says that a newer interval is stored than the one that is shown. */
  get behind() { return !!this.status?.end && !!this.interval && Date.parse(this.status.end) > Date.parse(this.interval.now.interval.end); }

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

  /** ask is an interval: of a large fabric the values of its links come as Arrow, of others with the rest. */
  private async ask(least: string, at?: string): Promise<Interval | null> {
    const apart = this.fabric.links >= bulk, answer = await this.api.snapshot({ at, least, values: !apart });
    return answer && this.made(answer, apart);
  }

  private async made(answer: Snapshot, apart: boolean): Promise<Interval> {
    const [graph, bulkValues] = await Promise.all([this.graphOf(answer.graph_version), apart ? this.api.values(answer.interval.start) : null]);
    if (bulkValues) { const { values: _, ...now } = answer; return { now, values: bulkValues, graph }; }
    const values: Interval["values"] = {};
    for (const [metric, list] of Object.entries(answer.values)) {
      const v = values[metric] = new Float32Array(graph.size);
      for (let i = 0; i < v.length; i++) v[i] = list[i] ?? NaN;
    }
    const { values: _, ...now } = answer;
    return { now, values, graph };
  }

  /** at is the interval of a time, from memory if it was shown lately. */
  async at(time: string, least: string): Promise<Interval | null> {
    const key = time + least, had = this.seen.get(key), asked = Date.now();
    if (had && asked - had.asked < keptFor) return had.interval;
    this.seen.delete(key); // that the new one comes last
    const made = await this.ask(least, time);
    if (!made) return null;
    if (this.seen.size >= Math.max(2, Math.min(kept, keptValues / made.graph.size))) this.seen.delete(this.seen.keys().next().value!);
    this.seen.set(key, { asked, interval: made });
    return made;
  }

  /** refresh asks for all that is shown; while it does, a further call makes it ask once more. */
  async refresh(w: Wanted & { compare: string }): Promise<boolean> {
    if (this.busy) { this.again = true; return false; }
    this.busy = true;
    try {
      if (!this.loaded) this.graph().catch(() => null); // most likely the one of the interval, so it is asked for beside that
      const ask = async () => { this.asked = Date.now(); this.status = await this.api.status(); this.answered = Date.now(); }, asked = ask();
      const shown = w.at ? this.at(w.at, w.least) : this.ask(w.least);
      const newest = async () => { // the server does not know it before it has stored one itself
        await asked;
        const interval = this.status?.end ? null : await shown;
        return interval ? Date.parse(interval.now.interval.end) : this.newest;
      };
      const [interval] = await Promise.all([shown, this.past.ask(w, newest), asked]);
      const [other, jobs] = await Promise.all([w.compare ? this.at(w.compare, w.least) : null, interval && this.api.jobsAt(interval.now.interval.start), this.askEvents(w, interval)]);
      if (!interval && !this.loaded) await this.graph();
      if (interval && !w.at && !(Date.parse(this.status?.end ?? "") >= Date.parse(interval.now.interval.end))) await ask(); // its answer was made before the interval came
      this.interval = interval; // all of an instant is shown at once
      this.of = w.at;
      this.other = other;
      this.jobs = latestRuns(jobs?.jobs ?? []);
      this.truncated = jobs?.truncated ?? false;
      this.loaded = true;
      return true;
    } finally { this.busy = false; }
  }

  /** takeAgain says whether a refresh was asked for while one ran. */
  takeAgain(): boolean { const a = this.again; this.again = false; return a; }

  /** askEvents are those up to the instant that is shown: of the time strip, if it is the latest that that has, or asked for. */
  private async askEvents(w: Wanted, shown: Interval | null) {
    const { history } = this.past;
    if (!w.at && !w.span && !w.until || !shown) { this.events = history.events; this.eventsOf = ""; return; }
    const to = Date.parse(shown.now.interval.end) + 1, key = to + w.least;
    if (key === this.eventsOf) return;
    this.events = (await this.api.events({ from: iso(to - day), to: iso(to) }, { least: w.least, n: recentEvents })).events;
    this.eventsOf = key;
  }

  /** askNames asks what the regions were called that these jobs had to do with and that are over, once in a while. */
  async askNames(jobs: Job[], shown: Interval | null): Promise<boolean> {
    const now = new Set(shown?.now.regions.map((r) => String(r.id))), wanted = jobs.flatMap((j) => j.regions).filter((r) => !now.has(r.region) && !this.names.has(r.region));
    if (wanted.length === 0 || Date.now() - this.named < 10_000) return false;
    this.named = Date.now();
    const from = Math.min(...wanted.map((r) => Date.parse(r.from))), to = Math.max(...wanted.map((r) => Date.parse(r.to))) + 1, { tracks } = await this.api.tracks({ from: iso(from), to: iso(to) });
    for (const r of wanted) this.names.set(r.region, `a ${r.severity} region`);
    for (const t of tracks) if (t.name) this.names.set(String(t.region), t.name);
    return true;
  }

  async askStatus() {
    this.asked = Date.now();
    try {
      this.status = await this.api.status(statusPatience);
      this.answered = Date.now();
    } catch (e) {
      if (isAbort(e)) return;
      const reason = e instanceof Problem && e.status ? "request failed" : "server not reachable";
      this.status = { network: { state: "Unknown", next: null, later: null, unknown: { reason, since: this.interval?.now.interval.end ?? "", detail: (e as Problem).message } }, end: null, age_seconds: null, live: false };
    }
  }

  graphInUse = () => this.interval?.graph ?? null;
}
