// The jobs of the stored past: where they ran, which regions touched them, and when.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { colours } from "../colour.ts";
import { h } from "../dom.ts";
import { clock, date, many, secondsBetween, span, sure } from "../format.ts";
import { blame, jobTitle } from "../panel/jobs.ts";
import { jobList, jobsOf } from "../url.ts";
import type { Exposure, Job, JobPage } from "../types.ts";

const mostRows = 300; // the API has all

let shown = ""; // which fabric and instant is on the page
let asked = 0;

export function jobsPage(app: App, into: HTMLElement) {
  const model = app.model, key = `jobs ${model?.fabric.name ?? ""} ${app.state.at} ${app.state.job}`;
  if (!model) { into.replaceChildren(h("h2", null, "Jobs"), h("p", null, "loading")); return; }
  if (key === shown && into.dataset.page === "jobs" && Date.now() - asked < 5000) return;
  const fresh = into.dataset.page !== "jobs";
  shown = key;
  asked = Date.now();
  into.dataset.page = "jobs";
  if (fresh) into.replaceChildren(h("h2", null, "Jobs"), h("p", null, "loading"));
  const end = app.state.at ? Date.parse(app.state.at) + 1000 * model.fabric.interval_seconds : undefined;
  model.api.jobs(end ? { to: end } : {}).then((a) => { if (shown === key && app.state.page === "jobs") fill(app, into, a); }).catch((e) => {
    if (!isAbort(e)) into.replaceChildren(h("h2", null, "Jobs"), h("p", { class: "Medium" }, (e as Error).message));
  });
}

function fill(app: App, into: HTMLElement, a: JobPage) {
  const jobs = [...a.jobs].sort((x, y) => blame(y) - blame(x) || y.start.localeCompare(x.start));
  const times = jobs.flatMap((j) => [j.start, j.end ?? a.to]).map((t) => Date.parse(t)), from = Math.max(Date.parse(a.from), Math.min(...times)), to = Date.parse(a.to);
  const chosen = jobs.find((j) => jobsOf(app.state).includes(j.job_id));
  into.replaceChildren(h("h2", null, "Jobs"),
    h("p", null, jobs.length ? `${many(jobs.length, "job")}${a.truncated ? " or more" : ""} ran between ${date(a.from)} ${clock(a.from)} and ${date(a.to)} ${clock(a.to)} UTC; jobs related to a congestion region come first${jobs.length > mostRows ? `, ${mostRows} are listed` : ""}.` : "No job is known for this time. docs/how-to/feed-jobs-and-failures.md describes how to feed jobs."),
    ...chosen ? [card(app, chosen, a)] : [],
    ...jobs.length ? [table(app, jobs, a, from, to)] : []);
}

function card(app: App, j: Job, a: JobPage) {
  const rows = j.regions.map((r) => h("tr", null, h("td", null, button(app.model?.names.get(r.region) ?? app.model?.interval?.now.regions.find((x) => String(x.id) === r.region)?.name ?? `${r.severity} region ${r.region}`, () => app.go({ page: "map", at: r.from, region: r.region }, true))), h("td", { class: r.severity }, r.severity), h("td", null, `${clock(r.from)} to ${clock(r.to)}`),
    h("td", null, r.accused_intervals ? `accused, blame ${sure(r.blame)}` : "victim"), h("td", { class: "number" }, span((r.accused_intervals || r.victim_intervals) * (app.model?.fabric.interval_seconds ?? 1)))));
  return h("div", { class: "card" }, h("h3", null, jobTitle(j)), h("p", null, [j.user, many(j.node_count, "node"), j.state, `started ${date(j.start)} ${clock(j.start)} UTC`, j.end ? `ended ${clock(j.end)} UTC after ${span(secondsBetween(j.start, j.end))}` : `runs for ${span(secondsBetween(j.start, a.to))}`].filter(Boolean).join(", ")),
    rows.length ? h("table", null, h("thead", null, h("tr", null, ...["region", "worst", "from, to", "as", "for"].map((t) => h("th", null, t)))), h("tbody", null, ...rows)) : h("p", { class: "Neg" }, "No region affected it."),
    h("div", { class: "actions" }, h("button", { attrs: { type: "button" }, on: { click: () => app.go({ page: "map", job: jobList([j.job_id]) }, true) } }, "Show its nodes on the map")));
}

const button = (text: string, click: () => void) => h("button", { class: "link", attrs: { type: "button" }, on: { click } }, text);

function table(app: App, jobs: Job[], a: JobPage, from: number, to: number) {
  const worst = (j: Job) => j.regions.reduce((m, r) => Math.max(m, ["Neg", "Low", "Medium", "High"].indexOf(r.severity)), 0), names = ["none", "Low", "Medium", "High"];
  const rows = jobs.slice(0, mostRows).map((j) => {
    const accused = j.regions.filter((r) => r.accused_intervals).length, victim = j.regions.filter((r) => r.victim_intervals && !r.accused_intervals).length;
    return h("tr", { class: jobsOf(app.state).includes(j.job_id) ? "chosen" : "" }, h("td", null, button(jobTitle(j), () => app.go({ job: jobList([j.job_id]) }, true))), h("td", null, j.user ?? ""), h("td", { class: "number" }, String(j.node_count)),
      h("td", { class: names[worst(j)] }, names[worst(j)]), h("td", { class: "number" }, accused ? String(accused) : ""), h("td", { class: "number" }, victim ? String(victim) : ""), h("td", { class: "number" }, blame(j) >= .005 ? sure(blame(j)) : ""), h("td", null, exposure(j, a, from, to)));
  });
  const heads = [["job", ""], ["user", ""], ["nodes", "number"], ["worst region", ""], ["accused of", "number"], ["victim of", "number"], ["blame", "number"], ["exposure over time", ""]]; // what is wide is last, where a phone has no room for it
  return h("table", null, h("thead", null, h("tr", null, ...heads.map(([t, c]) => h("th", { class: c }, t)))), h("tbody", null, ...rows));
}

/** exposure is a job's life as a bar, and on it the regions that it had to do with; the columns before it take up to 560 pixels. */
function exposure(j: Job, a: JobPage, from: number, to: number): HTMLElement {
  const w = Math.min(360, Math.max(160, innerWidth - 560)), tall = 18, ratio = devicePixelRatio || 1, p = colours(), x = (t: string) => (Date.parse(t) - from) / Math.max(1, to - from) * w, text = j.regions.map((r) => `${r.severity} ${r.accused_intervals ? "accused" : "victim"} ${clock(r.from)} to ${clock(r.to)}`).join("; ") || "no region";
  const canvas = h("canvas", { title: text, attrs: { role: "img", "aria-label": text } });
  canvas.width = w * ratio;
  canvas.height = tall * ratio;
  canvas.style.width = w + "px";
  canvas.style.height = tall + "px";
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  c.fillStyle = p.edge;
  c.fillRect(Math.max(0, x(j.start)), 6, Math.max(2, x(j.end ?? a.to) - Math.max(0, x(j.start))), 6);
  for (const r of [...j.regions].sort((m: Exposure, n: Exposure) => m.blame - n.blame)) {
    c.fillStyle = p.severity[r.severity];
    c.fillRect(x(r.from), r.accused_intervals ? 1 : 6, Math.max(2, x(r.to) - x(r.from)), r.accused_intervals ? 16 : 6);
  }
  return canvas;
}
