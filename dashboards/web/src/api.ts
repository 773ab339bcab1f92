// The HTTP API: every path that the page asks for stands here.
import { floatColumns } from "./arrow.ts";
import type { Collective, CollectiveRun, Congestion, DiagnosisPage, EventPage, FabricSummary, Graph, HostReport, HostRun, JobPage, JobTraffic, KnownAnomaly, LinkHistory, LinkSeries, NetworkStates, NetworkSteps, NodeScores, RegionCollective, Search, Snapshot, Span, Status, Track, TrackList } from "./types.ts";

const base = "api/v1/";

/** Problem is an answer that is none: its HTTP status (0: the server was not reached) and what the server says. */
export class Problem extends Error {
  constructor(readonly status: number, detail: string) { super(detail); }
}

export const isAbort = (e: unknown) => e instanceof DOMException && e.name === "AbortError";

/** signIn makes a session of a token; the browser keeps it in a cookie that scripts cannot read. */
export async function signIn(token: string): Promise<void> {
  const r = await fetch("login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) }).catch(() => { throw new Problem(0, "the server is not reachable"); });
  if (!r.ok) throw await problemOf(r);
}

async function problemOf(r: Response): Promise<Problem> {
  const p = await r.json().catch(() => null) as { detail?: string; title?: string } | null;
  return new Problem(r.status, p?.detail ?? p?.title ?? `HTTP status ${r.status}`);
}

type Query = Record<string, string | number | undefined>;

function address(path: string, query: Query): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== "") q.set(k, String(v));
  const text = q.toString();
  return base + path + (text ? "?" + text : "");
}

const patience = 120_000; // ms for an answer

/** ask is the answer to a question, as read reads it; null where that has no content. A connection can be cut without a sign of it: then no answer ever comes. */
async function ask<T>(path: string, query: Query, read: (r: Response) => Promise<T>, signal?: AbortSignal, accept = "application/json", most = patience): Promise<T | null> {
  const late = new AbortController(), timer = setTimeout(() => late.abort(), most);
  try {
    const r = await fetch(address(path, query), { signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal, headers: { Accept: accept } });
    if (r.status === 204) return null;
    if (!r.ok) throw await problemOf(r);
    return await read(r);
  } catch (e) {
    if (late.signal.aborted) throw new Problem(0, "the server does not answer");
    if (isAbort(e) || e instanceof Problem) throw e;
    throw new Problem(0, "the server is not reachable");
  } finally {
    clearTimeout(timer);
  }
}

const get = <T>(path: string, query: Query, signal?: AbortSignal, most?: number) => ask<T>(path, query, (r) => r.json(), signal, undefined, most);

const must = <T>(answer: T | null, what: string): T => {
  if (answer === null) throw new Problem(204, `${what}: no content`);
  return answer;
};

/** OfFabric asks about one fabric; all its questions end when signal does. */
export class OfFabric {
  private readonly path: string;
  constructor(readonly name: string, readonly signal?: AbortSignal) { this.path = "fabrics/" + encodeURIComponent(name); }

  graph = async (version: string) => must(await get<Graph>(this.path + "/graph", { version }, this.signal), "graph");
  status = async (most?: number) => must(await get<Status>(this.path + "/status", {}, this.signal, most), "status");
  /** snapshot is the newest interval, or the last that starts at a time or before; null where there is none. */
  snapshot = (of: { at?: string; least?: string; values?: boolean }) => get<Snapshot>(this.path + "/snapshot", { at: of.at, min_severity: of.least, values: of.values === false ? "false" : undefined }, this.signal);
  /** values are those of the links in the interval that starts at an instant, by metric: as Arrow, a fifth of what JSON takes. */
  values = async (at: string) => floatColumns(must(await ask(this.path + "/snapshot", { at }, (r) => r.arrayBuffer(), this.signal, "application/vnd.apache.arrow.stream"), "values"));
  network = async (span: Span) => must(await get<NetworkStates>(this.path + "/network", { ...span }, this.signal), "network");
  networkSteps = async (span: Span) => must(await get<NetworkSteps>(this.path + "/network-steps", { ...span }, this.signal), "network");
  congestion = async (span: Span) => must(await get<Congestion>(this.path + "/congestion", { ...span }, this.signal), "congestion");
  events = async (span: Span, of: { least?: string; kinds?: string; n?: number } = {}) => must(await get<EventPage>(this.path + "/events", { ...span, min_severity: of.least, kinds: of.kinds, n: of.n }, this.signal), "events");
  jobsAt = (at: string) => this.jobsOf({ at });
  jobs = (span: Span) => this.jobsOf({ ...span });
  /** jobsOf returns the newest jobs and, where there are more than a page has, the accused among all. */
  private async jobsOf(query: Query): Promise<JobPage> {
    const ask = async (more: Query) => must(await get<JobPage>(this.path + "/jobs", { ...query, ...more }, this.signal), "jobs");
    const newest = await ask({});
    if (!newest.truncated) return newest;
    const key = (j: JobPage["jobs"][number]) => j.job_id + " " + j.start, listed = new Set(newest.jobs.map(key));
    return { ...newest, jobs: [...(await ask({ accused: "true" })).jobs.filter((j) => !listed.has(key(j))), ...newest.jobs] };
  }
  track = async (id: string, span: Span) => must(await get<Track>(`${this.path}/tracks/${encodeURIComponent(id)}`, { ...span }, this.signal), "track");
  tracks = async (span: Span) => must(await get<TrackList>(this.path + "/tracks", { ...span }, this.signal), "tracks");
  /** diagnosis is the newest diagnosis of a region up to an instant, with what is known of the network card at its root. */
  diagnosis = async (region: string, to: string) => must(await get<DiagnosisPage>(this.path + "/diagnoses", { region, to, from: Math.max(1, Date.parse(to) - 86_400_000), n: 1 }, this.signal), "diagnoses").diagnoses[0];
  traffic = async (job: string, span: Span) => must(await get<JobTraffic>(`${this.path}/jobs/${encodeURIComponent(job)}/traffic`, { ...span }, this.signal), "traffic");
  link = async (id: number, metric: string, version: string, span: Span) => must(await get<LinkSeries>(`${this.path}/links/${id}`, { metric, version, ...span }, this.signal), "link");
  linkHistory = async (id: number, metric: string, version: string, span: Span) => must(await get<LinkHistory>(`${this.path}/links/${id}/history`, { metric, version, ...span }, this.signal), "link");
  searches = async () => must(await get<{ searches: Search[] }>(this.path + "/searches", {}, this.signal), "searches").searches;
  knownAnomalies = async () => must(await get<{ anomalies: KnownAnomaly[] }>(this.path + "/known-anomalies", {}, this.signal), "known anomalies").anomalies;
  hosts = async () => must(await get<{ hosts: HostRun[] }>(this.path + "/hosts", {}, this.signal), "hosts").hosts;
  host = async (name: string, run: string) => must(await get<HostReport>(`${this.path}/hosts/${encodeURIComponent(name)}`, { run }, this.signal), "host");
  /** collectives are those that ended in a span; without it in the last week. */
  collectives = async (range: { from?: number; to?: string }) => must(await get<{ collectives: Collective[] }>(this.path + "/collectives", range, this.signal), "collectives").collectives;
  collective = async (run: string) => must(await get<CollectiveRun>(`${this.path}/collectives/${encodeURIComponent(run)}`, {}, this.signal), "collective");
  /** collectivesOf are those whose flows crossed a region, the dearest first. */
  collectivesOf = async (region: string) => must(await get<{ collectives: RegionCollective[] }>(`${this.path}/tracks/${encodeURIComponent(region)}/collectives`, {}, this.signal), "collectives").collectives;
  scores = async () => must(await get<NodeScores>(this.path + "/feedback/nodes", { min: 1 }, this.signal), "scores");
}

export const fabrics = async (signal?: AbortSignal) => (await get<FabricSummary[]>("fabrics", {}, signal)) ?? [];

/** refusal is why the server refuses the stream, which EventSource does not say; empty where it does not, or does not answer. */
async function refusal(): Promise<string> {
  const asked = new AbortController();
  try {
    const r = await fetch(base + "stream", { signal: asked.signal, headers: { Accept: "text/event-stream" } });
    return r.ok ? "" : (await problemOf(r)).message;
  } catch {
    return "";
  } finally {
    asked.abort();
  }
}

/** follow calls back for each interval that is stored, and when the stream opens or breaks, with the server's words where it refuses the stream. It ends with stop. */
export function follow(on: { interval: (fabric: string) => void; open: () => void; broken: (why: string) => void }): () => void {
  const stream = new EventSource(base + "stream");
  let stop = () => stream.close();
  stream.addEventListener("interval", (e) => on.interval((JSON.parse((e as MessageEvent<string>).data) as { fabric: string }).fabric));
  stream.onopen = on.open;
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED) {
      on.broken("");
      return;
    }
    // Refused, which the browser does not try again.
    void refusal().then(on.broken);
    const again = setTimeout(() => { stop = follow(on); }, 3000);
    stop = () => clearTimeout(again);
  };
  return () => stop();
}
