// The jobs that run, those first that regions have to do with; a click shows where one runs.
import type { App } from "../app.ts";
import { jobColour } from "../colour.ts";
import { h, refill } from "../dom.ts";
import { clock, many, sure } from "../format.ts";
import type { Exposure, Job, Region } from "../types.ts";
import { jobList, jobsOf } from "../url.ts";
import { regionName } from "./regions.ts";

const most = 12;

export const blame = (j: Job) => Math.max(0, ...j.regions.map((r) => r.blame || (r.victim_intervals ? .001 : 0)));
export const jobTitle = (j: Job) => [j.job_id, j.name].filter(Boolean).join(" ");

export function fillJobs(list: HTMLElement, app: App, regions: Region[], duration: (intervals: number) => string, known: boolean) {
  const { jobs, truncated } = app.model!, named = new Map(regions.map((r) => [String(r.id), regionName(r)])), past = new Map<string, string>(), shown = jobsOf(app.state);
  for (const [id, name] of app.model!.names) if (!named.has(id)) past.set(id, name);
  const sorted = [...jobs].sort((a, b) => blame(b) - blame(a) || b.node_count - a.node_count);
  const items = sorted.slice(0, most).map((j) => {
    const n = shown.indexOf(j.job_id), button = h("button", { class: "link", title: "Show where it runs", data: { key: j.job_id }, attrs: { type: "button", "aria-pressed": String(n >= 0) }, on: { click: () => toggleJob(app, j.job_id) } }, jobTitle(j));
    if (n >= 0) { button.style.background = jobColour(n); button.style.color = "#10171f"; }
    return h("li", null, button, h("span", null, [j.user, many(j.node_count, "node")].filter(Boolean).join(", ")), h("small", null, touches(j, { named, past }, duration) || (known ? "in no region" : "")));
  });
  if (jobs.length > most || truncated) items.push(h("li", { class: "none" }, `and ${jobs.length - most}${truncated ? " or more" : ""} others`));
  if (items.length === 0) items.push(h("li", { class: "none" }, "no job known"));
  refill(list, ...items);
}

const mostTouches = 3; // regions that are named, those that are there now first

/** Names of regions by id: of those that are there now, and of those that ended. */
interface Names { named: Map<string, string>; past: Map<string, string> }

function touches(j: Job, names: Names, duration: (intervals: number) => string): string {
  const { named } = names, sorted = [...j.regions].sort((a, b) => Number(named.has(b.region)) - Number(named.has(a.region)) || b.blame - a.blame), more = sorted.length - mostTouches;
  return sorted.slice(0, mostTouches).map((r) => touch(r, names, duration)).join("; ") + (more > 0 ? `; and ${many(more, "other region")}` : "");
}

/** toggleJob shows a job's nodes on the map, or no longer. */
export function toggleJob(app: App, id: string) {
  const shown = jobsOf(app.state);
  app.go({ job: jobList(shown.includes(id) ? shown.filter((s) => s !== id) : [...shown, id]) });
}

function touch(r: Exposure, { named, past }: Names, duration: (intervals: number) => string): string {
  const name = named.get(r.region) ?? past.get(r.region) ?? `a ${r.severity} region`;
  const what = r.accused_intervals ? `accused of ${name} for ${duration(r.accused_intervals)} (blame ${sure(r.blame)})` : `slowed down by ${name} for ${duration(r.victim_intervals)}`;
  return what + (named.has(r.region) ? "" : ", until " + clock(r.to));
}
