// The page: asks the API for the fabric's graph once, then for each interval as
// the server announces it.
import { drawLegend, severityColor } from "./color.js";
import { Heatmap } from "./heatmap.js";
import { layoutOf } from "./layout.js";
import { fillOutlook } from "./forecast.js";
import { drawTimeline } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const api = async (path, mayBeAbsent) => {
  const r = await fetch("api/v1/" + path);
  if (mayBeAbsent && r.status === 404) return null;
  if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
  return r.json();
};
const clock = (nanos) => new Date(nanos / 1e6).toISOString().slice(11, 19);
const percent = (v) => v == null ? "missing" : v.toFixed(1) + "%";
const element = (tag, text, cls) => {
  const e = document.createElement(tag);
  if (text != null) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};

let fabric, links, layout, now, focused = null, busy = false, again = false, lastArrival = 0;
const heat = new Heatmap($("heat"), hover);
const base = "fabrics/";

async function choose(name) {
  const fabrics = await api("fabrics");
  $("fabric").replaceChildren(...fabrics.map((f) => new Option(f.name, f.name, false, f.name === name)));
  fabric = fabrics.find((f) => f.name === name) ?? fabrics[0];
  if (!fabric) throw new Error("no fabric is configured");
  links = await api(base + encodeURIComponent(fabric.name) + "/links");
  layout = layoutOf(fabric, links);
  now = null;
  await refresh();
}

async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    do {
      again = false;
      const path = base + encodeURIComponent(fabric.name);
      const [snapshot, history] = await Promise.all([api(path + "/now", true), api(path + "/history")]);
      if (snapshot) show(snapshot, history); else wait();
    } while (again);
  } finally { busy = false; }
}

// wait shows that nothing is stored yet.
function wait() {
  now = null;
  heat.clear();
  $("metric").replaceChildren();
  $("severity").textContent = "no data yet";
  $("severity").className = "Neg";
  for (const part of ["facts", "forecast"]) $(part).replaceChildren();
  $("rce").hidden = true;
  for (const list of ["regions", "hot", "events"]) $(list).replaceChildren(element("li", "none yet", "none"));
  drawTimeline($("timeline"), []);
  $("status").className = "";
  $("status").textContent = "waiting for the first interval";
}

function show(snapshot, history) {
  now = snapshot;
  lastArrival = Date.now();
  const metrics = Object.keys(now.values), chosen = $("metric").value;
  const metric = metrics.includes(chosen) ? chosen : metrics[0];
  if (metrics.join() !== [...$("metric").options].map((o) => o.value).join()) {
    $("metric").replaceChildren(...metrics.map((m) => new Option(m.replaceAll("_", " "), m, false, m === metric)));
  }
  paint();
  showRegions();
  showHot();
  showState(history);
  showEvents(history.events);
  drawTimeline($("timeline"), history.states);
  status();
}

const metricShown = () => $("metric").value;
const shownRegions = () => now.regions.filter((r) => r.metric === metricShown());

function paint() {
  if (now) heat.show(layout, now.values[metricShown()] ?? [], shownRegions(), focused);
}

function showRegions() {
  const items = shownRegions().map((r) => {
    const li = element("li");
    li.tabIndex = 0;
    const mark = element("i");
    mark.style.background = severityColor[r.severity];
    const about = `mean ${percent(r.mean)}${arrow(r.forecast)}, max ${percent(r.max)}` + (r.age_intervals ? `, for ${duration(r.age_intervals)}` : "");
    const forecast = element("div", null, "forecast");
    fillOutlook(forecast, r.forecast, duration);
    li.append(mark, element("b", r.name || "region " + r.id), element("span", r.size + " links" + growth(r.forecast)), element("small", `${r.severity}: ${about}`), forecast);
    const focus = (on) => { focused = on ? r.id : null; paint(); };
    li.addEventListener("mouseenter", () => focus(true));
    li.addEventListener("mouseleave", () => focus(false));
    li.addEventListener("focus", () => focus(true));
    li.addEventListener("blur", () => focus(false));
    return li;
  });
  $("regions").replaceChildren(...items.length ? items : [element("li", "no region of this metric", "none")]);
}

// arrow says whether a mean rises or falls by half a point per interval or more.
function arrow(forecast) {
  const trend = forecast?.trend_percent ?? 0;
  return trend >= .5 ? " \u2197" : trend <= -.5 ? " \u2198" : "";
}

function growth(forecast) {
  const links = forecast?.growth_links ?? 0;
  return links ? ` (${links > 0 ? "+" : "\u2212"}${Math.abs(links)})` : "";
}

// showHot lists the links that have been hot for longest.
function showHot() {
  const end = now.interval.start_nanos + now.interval.duration_nanos;
  const items = now.hot.filter((h) => h.metric === metricShown()).slice(0, 6).map((h) => {
    const li = element("li"), seconds = (end - h.since_nanos) / 1e9;
    const a = links.devices[links.from[h.link]].name, b = links.devices[links.to[h.link]].name;
    const value = now.values[h.metric]?.[h.link];
    li.append(element("span", `${a} ${links.duplex ? "\u2194" : "\u2192"} ${b}`), element("time", `${percent(value)}, ${duration(seconds / fabric.interval_seconds)}`));
    li.title = `${a} : ${links.from_port[h.link]}, ${b} : ${links.to_port[h.link]} (link ${h.link}), hot since ${clock(h.since_nanos)} UTC`;
    return li;
  });
  $("hot").replaceChildren(...items.length ? items : [element("li", "no hot link of this metric", "none")]);
}

function duration(intervals) {
  const s = Math.round(intervals * fabric.interval_seconds);
  return s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : (s / 3600).toFixed(1) + " h";
}

function showState(history) {
  const state = history.states.at(-1)?.state ?? "Neg";
  $("severity").textContent = state === "Neg" ? "calm" : state + " congestion";
  $("severity").className = state;
  fillOutlook($("forecast"), now.network, duration);
  const rce = now.congestion;
  $("rce").hidden = !rce;
  if (rce) {
    const seconds = (now.interval.start_nanos + now.interval.duration_nanos - rce.begin_nanos) / 1e9;
    $("rce").textContent = `Congestion event for ${duration(seconds / fabric.interval_seconds)}`;
    $("rce").title = `High regions since ${clock(rce.begin_nanos)} UTC, last seen ${clock(rce.end_nanos)}; the worst region's mean was ${percent(rce.peak_mean_percent)}`;
  }
  const facts = { switches: fabric.switches, hosts: fabric.hosts, links: fabric.links, "links measured": (100 * (now.coverage[metricShown()] ?? 0)).toFixed(1) + "%",
    "counter to store": now.latency_seconds.toFixed(2) + " s" };
  $("facts").replaceChildren(...Object.entries(facts).filter(([, v]) => v).flatMap(([k, v]) => [element("dt", k), element("dd", v.toLocaleString("en"))]));
}

function showEvents(events) {
  const items = events.slice(-40).reverse().map((e) => {
    const li = element("li", null, e.kind === "story" ? "story" : null);
    li.append(element("time", clock(e.time_nanos)), e.detail || [e.kind.replaceAll("_", " "), e.device, e.port].filter(Boolean).join(" "));
    return li;
  });
  $("events").replaceChildren(...items.length ? items : [element("li", "none yet", "none")]);
}

function hover(id, event) {
  const tip = $("tip");
  tip.hidden = id == null || !now;
  if (tip.hidden) return;
  const a = links.devices[links.from[id]].name, b = links.devices[links.to[id]].name;
  const region = shownRegions().find((r) => r.links.includes(id));
  tip.textContent = [`${a} : ${links.from_port[id]} ${links.duplex ? "\u2194" : "\u2192"} ${b} : ${links.to_port[id]}  (link ${id})`,
    ...Object.entries(now.values).map(([m, v]) => `${m.replaceAll("_", " ")} ${percent(v[id])}`),
    ...region ? [`${region.severity} region ${region.name || region.id}, ${region.size} links`] : []].join("\n");
  const box = $("map").getBoundingClientRect();
  tip.style.left = Math.min(event.clientX - box.left + 14, box.width - 300) + "px";
  tip.style.top = Math.min(event.clientY - box.top + 14, box.height - 90) + "px";
}

function status() {
  const out = $("status");
  if (!now) return;
  const age = (Date.now() - lastArrival) / 1000, stale = age > 3 * fabric.interval_seconds + 2;
  out.className = stale ? "stale" : "";
  out.textContent = clock(now.interval.start_nanos + now.interval.duration_nanos) + " UTC" + (stale ? `, no new interval for ${Math.round(age)} s` : ", live");
}

function fail(e) {
  $("status").className = "stale";
  $("status").textContent = e.message;
}

function listen() {
  const stream = new EventSource("api/v1/stream");
  stream.addEventListener("interval", (e) => {
    if (JSON.parse(e.data).fabric === fabric?.name) refresh().catch(fail);
  });
  stream.onerror = () => fail(new Error("connection lost, trying again"));
  stream.onopen = () => { if (fabric) refresh().catch(fail); else choose().catch(fail); };
}

drawLegend($("legend"));
$("fabric").addEventListener("change", () => choose($("fabric").value).catch(fail));
$("metric").addEventListener("change", () => { paint(); showRegions(); showHot(); });
addEventListener("resize", () => { if (now) paint(); });
setInterval(status, 1000);
choose().catch(fail).finally(listen);
