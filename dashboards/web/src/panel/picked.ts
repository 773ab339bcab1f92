// What was clicked on the map: a link with its values over time, or a switch or host with its links.
import uPlot from "uplot";
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { colours } from "../colour.ts";
import { $, h, refill, setText } from "../dom.ts";
import { iso, metricName, percent } from "../format.ts";
import { percentAxis } from "./plot.ts";
import { timeAxis } from "../time/past.ts";
import type { Interval } from "../model.ts";

const value = (v: number) => percent(v === v ? v : null);
let chart: uPlot | null = null;
let asked = "";

export function fillPicked(app: App) {
  const what = app.selection(), i = app.model?.interval;
  $("picked").hidden = !what || !i;
  if (!what || !i) { asked = ""; chart?.destroy(); chart = null; return; }
  const close = h("button", { attrs: { type: "button" }, on: { click: () => app.select(null) } }, "Close");
  if ("link" in what) fillLink(app, i, what.link, close); else fillDevice(app, i, what.device, close);
  if (app.reveal) { app.reveal = false; $("picked").scrollIntoView({ block: "nearest" }); } // it is above the reasons, and on a narrow screen below the map
}

function fillDevice(app: App, i: Interval, device: number, close: HTMLElement) {
  asked = "";
  const g = i.graph, d = g.devices[device], metric = app.metricShown(), v = i.values[metric], job = app.model!.jobs.find((j) => j.nodes.includes(d.name));
  setText($("pickedtitle"), d.kind === "switch" ? "Switch" : "Host");
  const links = g.linksAt(device).sort((a, b) => (v[b] === v[b] ? v[b] : -1) - (v[a] === v[a] ? v[a] : -1));
  const twice = (id: number) => links.some((other) => other !== id && g.linkShort(other) === g.linkShort(id)); // parallel links differ only in their ports
  const name = (id: number) => g.linkShort(id) + (twice(id) ? `, port ${g.from[id] === device ? g.links.from_port[id] : g.links.to_port[id]}` : "");
  const rows = links.slice(0, 10).map((id) => h("tr", null, h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.select({ link: id }) } }, name(id))), h("td", { class: "number" }, value(v[id]))));
  const facts = [["in", g.group(device)], ["name", d.label ? d.name : ""], ["coordinate", d.coord ? d.coord.join(", ") : ""], ["job", job ? `${job.job_id} ${job.name ?? ""}` : ""], ["links", String(links.length)]].filter(([, t]) => t);
  refill($("pickedbody"), h("h3", null, g.name(device)), h("dl", null, ...facts.flatMap(([k, t]) => [h("dt", null, k), h("dd", null, t)])),
    h("table", null, h("tbody", null, ...rows)), h("div", { class: "actions" },
      h("button", { attrs: { type: "button" }, on: { click: () => app.go({ layout: "path", from: d.name }, true) } }, "Path from here"), h("button", { attrs: { type: "button" }, on: { click: () => app.go({ layout: "path", to: d.name }, true) } }, "Path to here"), close));
}

function fillLink(app: App, i: Interval, id: number, close: HTMLElement) {
  const g = i.graph, metric = app.metricShown(), l = g.links;
  setText($("pickedtitle"), "Link");
  const end = (d: number) => h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.select({ device: d }) } }, g.name(d));
  const facts: [string, Node | string][] = [["from", end(g.from[id])], ["port", l.from_port[id]], ["to", end(g.to[id])], ["port", l.to_port[id]], ["class", l.class[id] + (l.up[id] ? "" : ", down")],
    ...Object.entries(i.values).map(([m, v]): [string, string] => [metricName(m), value(v[id])])];
  const window = app.model!.past.history, list = h("dl", null, ...facts.flatMap(([k, t]) => [h("dt", null, k), h("dd", null, t)])), key = `${app.model!.fabric.name} ${id} ${metric} ${window.stepSeconds ? window.from + " " + window.to : i.now.interval.start}`;
  const plot = $("pickedbody").querySelector<HTMLElement>(".series") ?? h("div", { class: "series" });
  refill($("pickedbody"), h("h3", null, `${g.linkShort(id)}`), list, plot, h("div", { class: "actions" }, close));
  if (key === asked) return;
  asked = key;
  const { from, to, stepSeconds } = app.model!.past.history, ask = { from: iso(from), to: iso(Math.max(to, from + 1)) }, { api } = app.model!;
  const points = stepSeconds ? api.linkHistory(id, metric, i.now.graph_version, ask).then((a) => a.steps.map((s) => ({ time: s.begin, value: s.mean, max: s.max })))
    : api.link(id, metric, i.now.graph_version, ask).then((a) => a.points.map((s) => ({ ...s, max: null })));
  points.then((list) => { if (asked === key) draw(plot, list, metricName(metric)); }).catch((e) => { if (!isAbort(e)) plot.replaceChildren(); });
}

function draw(into: HTMLElement, points: { time: string; value: number; max: number | null }[], name: string) {
  chart?.destroy();
  chart = null;
  into.replaceChildren();
  if (points.length < 2) return;
  const p = colours(), axis = { stroke: p.faint, grid: { stroke: p.edge, width: 1 }, ticks: { stroke: p.edge, width: 1 }, font: "11px system-ui, sans-serif" };
  into.setAttribute("role", "img");
  into.setAttribute("aria-label", `${name} of the link over time${points[0].max === null ? "" : ", mean and (dashed) maximum per step"}`);
  chart = new uPlot({
    width: into.clientWidth || 330, height: 130, legend: { show: false }, cursor: { show: false }, padding: [8, 14, 0, 0],
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(5, max * 1.1)] } },
    series: [{}, { stroke: p.severity.Low, width: 1.5 }, { stroke: p.severity.High, width: 1, dash: [3, 3], show: points[0].max !== null }],
    axes: [{ ...axis, ...timeAxis, size: 30 }, { ...axis, size: percentAxis, values: (_, t) => t.map((s) => s + "%") }],
  }, [points.map((q) => Date.parse(q.time) / 1000), points.map((q) => q.value), points.map((q) => q.max)], into);
}
