// The state of the page that its address holds, so that every view can be shared.
import { severities } from "./colour.ts";

export interface ViewState {
  fabric: string;
  page: "map" | "jobs" | "collectives" | "hosts" | "searches";
  layout: string; // of the map; empty: the fabric's own
  metric: string; // empty: the one by which the network is worst
  region: string; // id; empty: the worst
  select: string; // "link:12" or "device:NAME"; empty: none
  at: string; // RFC 3339; empty: live
  compare: string; // RFC 3339 of the other instant; empty: none
  job: string;
  from: string; // of the path view
  to: string;
  least: string; // severity
  span: string; // seconds of the time strip, or "all" that is stored; empty: the latest intervals
  run: string; // of a collective, or of probes inside a host, that is open
  until: string; // RFC 3339 of the end of the time strip; empty: the newest interval
}

const keys: (keyof ViewState)[] = ["fabric", "page", "layout", "metric", "region", "select", "at", "compare", "job", "from", "to", "least", "span", "until", "run"];

/** jobsOf are the ids of the jobs that are chosen: separated by commas, those of an id written as %2C. */
export const jobsOf = (s: Pick<ViewState, "job">): string[] => s.job.split(",").filter(Boolean).map((id) => { try { return decodeURIComponent(id); } catch { return id; } });
export const jobList = (ids: string[]) => ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

export function read(search = location.search): ViewState {
  const q = new URLSearchParams(search);
  const s = Object.fromEntries(keys.map((k) => [k, q.get(k) ?? ""])) as unknown as ViewState;
  if (!["map", "jobs", "collectives", "hosts", "searches"].includes(s.page)) s.page = "map";
  // What cannot be meant is left out; of an instant the server says what is wrong: the present would be taken for it.
  for (const k of ["compare", "until"] as const) if (!(Date.parse(s[k]) > 0)) s[k] = "";
  if (s.span !== "all" && !(Number(s.span) > 0)) s.span = "";
  if (!severities.some((one) => one === s.least)) s.least = "";
  return s;
}

export function write(s: ViewState): string {
  const q = new URLSearchParams();
  for (const k of keys) if (s[k] && !(k === "page" && s[k] === "map")) q.set(k, s[k]);
  const text = q.toString();
  return location.pathname + (text ? "?" + text : "");
}
