// The page: asks the API for a fabric's graph, then for each interval as the server
// announces it.
import { drawLegend, severities } from "./color.js";
import { Heatmap } from "./heatmap.js";
import { groupOf, layoutOf, nameOf } from "./layout.js";
import { copyText, fillDiagnosis, ticket } from "./diagnosis.js";
import { fillForecast } from "./forecast.js";
import { fillJobs } from "./jobs.js";
import { RegionList } from "./regions.js";
import { drawTimeline } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const clock = (time) => time.slice(11, 19);
const date = (time) => time.slice(0, 10);
// when is a time with its date, unless that is today's.
const when = (time) => (date(time) === new Date().toISOString().slice(0, 10) ? "" : date(time) + " ") + clock(time) + " UTC";
const reasons = { nothing_measured: "nothing measured", low_coverage: "too little measured", no_readings: "collectors silent", kafka: "Kafka away",
  store: "store refuses", no_interval: "no new interval" };
const ago = (s) => s < 120 ? Math.round(s) + " s" : s < 7200 ? Math.round(s / 60) + " min" : s < 172800 ? Math.round(s / 3600) + " h" :
  s < 6e7 ? Math.round(s / 86400) + " days" : Math.round(s / 31557600) + " years";
const seconds = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;
const percent = (v) => v == null ? "missing" : v.toFixed(1) + "%";
const words = (name) => name.replaceAll("_", " ");
const element = (tag, text, cls) => {
  const e = document.createElement(tag);
  if (text != null) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};

async function api(path, signal) {
  const r = await fetch("api/v1/" + path, { signal });
  if (r.status === 204) return null;
  if (!r.ok) throw new Error((await r.json().catch(() => null))?.detail ?? `${path}: ${r.status}`);
  return r.json();
}

// view is what is shown of one fabric: {name, abort, picked, chosen, fabric, links,
// layout, now, jobs, busy, again}. Choosing another fabric makes another view and aborts what the
// old one waits for, so that no answer meets a graph that it is not of.
let view = null;
const heat = new Heatmap($("heat"), hover);
const regionList = new RegionList($("regions"), paint, (region) => {
  view.chosen = String(region.id);
  showDiagnosis();
  if (region.metric !== metricShown()) showMetric(region.metric);
});

async function choose(name) {
  view?.abort.abort();
  const mine = view = { abort: new AbortController(), picked: false };
  const fabrics = await api("fabrics", mine.abort.signal);
  mine.fabric = fabrics.find((f) => f.name === name) ?? fabrics[0];
  if (!mine.fabric) throw new Error("no fabric is configured");
  mine.name = mine.fabric.name;
  $("fabric").replaceChildren(...fabrics.map((f) => new Option(f.name, f.name, false, f.name === mine.name)));
  await refresh(mine);
}

async function refresh(mine) {
  if (!mine.name) return; // it is being chosen
  if (mine.busy) { mine.again = true; return; }
  mine.busy = true;
  try {
    do {
      mine.again = false;
      const path = "fabrics/" + encodeURIComponent(mine.name), signal = mine.abort.signal;
      const least = $("least").value, query = least ? "?min_severity=" + least : "", past = (query ? query + "&" : "?") + "intervals=240";
      const [now, network, events, state] = await Promise.all([api(path + "/snapshot" + query, signal), api(path + "/network?intervals=240", signal),
        api(path + "/events" + past, signal), api(path + "/status", signal)]);
      const version = now?.graph_version ?? mine.fabric.graph_version;
      if (mine.links?.fabric.graph_version !== version) {
        mine.links = await api(`${path}/graph?version=${version}`, signal);
        mine.fabric = mine.links.fabric;
        mine.layout = layoutOf(mine.fabric, mine.links);
      }
      mine.jobs = now ? await api(`${path}/jobs?nodes=false&at=${now.interval.start}`, signal) : null;
      if (mine !== view) return;
      mine.state = state;
      mine.asked = Date.now();
      if (now) show(now, { states: network.states, events: events.events }); else wait();
    } while (mine.again);
  } finally { mine.busy = false; }
}

// wait shows that nothing is stored yet.
function wait() {
  view.now = null;
  heat.clear();
  $("metric").replaceChildren();
  $("severity").textContent = "no data yet";
  $("severity").className = "Unknown";
  $("why").hidden = true;
  for (const part of ["facts", "forecast"]) $(part).replaceChildren();
  $("rce").hidden = true;
  regionList.show([], duration);
  $("diagnosis").hidden = true;
  fillJobs($("jobs"), [], [], duration, false);
  for (const list of ["hot", "events"]) $(list).replaceChildren(element("li", "none yet", "none"));
  drawTimeline($("timeline"), []);
  $("status").className = "";
  $("status").textContent = "waiting for the first interval";
}

function show(now, history) {
  view.now = now;
  const metrics = Object.keys(now.values), metric = metricToShow(metrics);
  if (metrics.join() !== [...$("metric").options].map((o) => o.value).join()) {
    $("metric").replaceChildren(...metrics.map((m) => new Option(words(m), m)));
  }
  $("metric").value = metric;
  regionList.show(now.regions, duration);
  paint();
  showDiagnosis();
  fillJobs($("jobs"), view.jobs.jobs, now.regions, duration, view.jobs.truncated);
  showHot();
  showState();
  showEvents(history.events);
  drawTimeline($("timeline"), history.states);
  status();
}

const metricShown = () => $("metric").value;
const shownRegions = () => view.now.regions.filter((r) => r.metric === metricShown());

// metricToShow keeps what is shown, unless the user has not picked it and it is calm while
// another is not: then it is the metric by which the network is worst.
function metricToShow(metrics) {
  const severity = (m) => severities.indexOf(view.now.states.find((s) => s.metric === m)?.severity ?? "Neg");
  const shown = metricShown(), worst = metrics.reduce((a, b) => severity(b) > severity(a) ? b : a, metrics[0]);
  return metrics.includes(shown) && (view.picked || severity(shown) > 0 || severity(worst) === 0) ? shown : worst;
}

function showMetric(metric) {
  view.picked = true;
  $("metric").value = metric;
  paint();
  showHot();
  showState();
}

function paint() {
  if (!view?.now) return;
  const pointed = regionList.pointed;
  heat.show(view.layout, view.now.values[metricShown()] ?? [], shownRegions(), pointed?.metric === metricShown() ? pointed.id : null);
}

// diagnosed is the diagnosis that is shown: of the region that was chosen, or else of
// the worst.
function diagnosed() {
  const { now, chosen } = view;
  const of = (region) => now.diagnoses.find((d) => d.region === String(region.id));
  const region = now.regions.find((r) => String(r.id) === chosen && of(r)) ?? now.regions.find(of);
  return { region, diagnosis: region && of(region), jobs: new Map(view.jobs.jobs.map((j) => [j.job_id, j])) };
}

function showDiagnosis() {
  const { region, diagnosis, jobs } = diagnosed();
  $("diagnosis").hidden = !diagnosis;
  fillDiagnosis($("verdict"), diagnosis, region, jobs);
}

async function copyTicket() {
  const { region, diagnosis, jobs } = diagnosed();
  if (!diagnosis) return;
  $("copied").textContent = await copyText(ticket(diagnosis, region, view.name, jobs)) ? "copied" : "the browser does not allow it";
  setTimeout(() => { $("copied").textContent = ""; }, 3000);
}

// showHot lists the links that have been hot for longest.
function showHot() {
  const { now, links } = view;
  const items = now.hot.filter((h) => h.metric === metricShown()).slice(0, 6).map((h) => {
    const li = element("li"), a = nameOf(links.devices[links.from[h.link]]), b = nameOf(links.devices[links.to[h.link]]);
    const hot = seconds(h.since, now.interval.end) / view.fabric.interval_seconds;
    li.append(element("span", `${a} ${links.duplex ? "\u2194" : "\u2192"} ${b}`), element("time", `${percent(now.values[h.metric]?.[h.link])}, ${duration(hot)}`));
    li.title = `${a} : ${links.from_port[h.link]}, ${b} : ${links.to_port[h.link]} (link ${h.link}), hot since ${clock(h.since)} UTC`;
    return li;
  });
  $("hot").replaceChildren(...items.length ? items : [element("li", "no hot link of this metric", "none")]);
}

function duration(intervals) {
  const s = Math.round(intervals * view.fabric.interval_seconds);
  return s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : (s / 3600).toFixed(1) + " h";
}

function showState() {
  const { now, fabric } = view;
  showSeverity();
  fillForecast($("forecast"), now.network, duration);
  const rce = now.congestion;
  $("rce").hidden = !rce;
  if (rce) {
    $("rce").textContent = `Congestion event for ${duration(seconds(rce.begin, now.interval.end) / fabric.interval_seconds)}`;
    $("rce").title = `High regions since ${clock(rce.begin)} UTC, last seen ${clock(rce.end)}; the worst region's mean was ${percent(rce.peak_mean_percent)}`;
  }
  const facts = { switches: fabric.switches, hosts: fabric.hosts, links: fabric.links, "links measured": (100 * (now.coverage[metricShown()] ?? 0)).toFixed(1) + "%",
    "counter to store": now.latency_seconds.toFixed(2) + " s" };
  $("facts").replaceChildren(...Object.entries(facts).filter(([, v]) => v).flatMap(([k, v]) => [element("dt", k), element("dd", v.toLocaleString("en"))]));
}

// unknown is why the state is not known: of now, or of the interval that is shown.
const unknown = () => view.state?.network.unknown ?? view.now.network.unknown;
const called = (state) => state === "Neg" ? "calm" : state + " congestion";

function showSeverity() {
  const { now } = view, why = unknown(), state = now.network.state;
  $("severity").className = why ? "Unknown" : state;
  $("severity").textContent = why ? "unknown" : called(state) + (view.state.live ? "" : ", " + when(now.interval.end));
  $("why").hidden = !why;
  if (!why) return;
  const since = view.state.network.unknown ? now.interval.end : why.since;
  const last = now.network.state === "Unknown" ? "" : `. Then: ${called(state)}`;
  $("why").textContent = `no data since ${when(since)} (${reasons[why.reason] ?? words(why.reason)})${last}`;
  $("why").title = why.detail ?? "";
}

// eventText says what happened; the detail alone where it is a sentence of its own.
function eventText(e) {
  if (e.detail && /^(story|region_|congestion_began|congestion_ended)/.test(e.kind)) return e.detail;
  return [words(e.kind), e.device, e.port].filter(Boolean).join(" ") + (e.detail ? ": " + e.detail : "");
}

function showEvents(events) {
  const items = events.slice(-40).reverse().map((e) => {
    const li = element("li", null, e.kind === "story" ? "story" : null);
    li.append(element("time", clock(e.time)), eventText(e));
    return li;
  });
  $("events").replaceChildren(...items.length ? items : [element("li", "none yet", "none")]);
}

function hover(id, event) {
  const tip = $("tip");
  tip.hidden = id == null || !view?.now;
  if (tip.hidden) return;
  const { links, now } = view;
  const end = (device, port) => {
    const d = links.devices[device], group = groupOf(links, d);
    return `${nameOf(d)}${group && d.kind === "switch" ? ` (${group})` : ""} : ${port}`;
  };
  const region = shownRegions().find((r) => r.links.includes(id));
  tip.textContent = [`${end(links.from[id], links.from_port[id])} ${links.duplex ? "\u2194" : "\u2192"} ${end(links.to[id], links.to_port[id])}  (link ${id}${links.up[id] ? "" : ", down"})`,
    ...Object.entries(now.values).map(([m, v]) => `${words(m)} ${percent(v[id])}`),
    ...region ? [`${region.severity} region ${region.name || region.id}, ${region.size} links`] : []].join("\n");
  const box = $("map").getBoundingClientRect();
  tip.style.left = Math.min(event.clientX - box.left + 14, box.width - 300) + "px";
  tip.style.top = Math.min(event.clientY - box.top + 14, box.height - 90) + "px";
}

// status says of when the picture is. It asks the server again where no interval comes
// for some seconds.
function status() {
  if (!view?.now || !view.state) return;
  const { now, state } = view, waited = (Date.now() - view.asked) / 1000, why = unknown();
  const age = (state.age_seconds ?? seconds(now.interval.end, new Date(view.asked).toISOString())) + waited;
  if (waited > 5) askStatus(view);
  $("status").className = state.live && !why ? "" : "stale";
  $("status").textContent = when(now.interval.end) + (why ? `, ${ago(age)} old: ${reasons[why.reason] ?? words(why.reason)}` : state.live ? ", live" : `, ${ago(age)} old`);
  showSeverity();
}

async function askStatus(mine) {
  mine.asked = Date.now();
  try {
    const state = await api(`fabrics/${encodeURIComponent(mine.name)}/status`, mine.abort.signal);
    if (mine !== view) return;
    mine.state = state;
    mine.asked = Date.now();
  } catch (e) {
    if (mine !== view || e.name === "AbortError") return;
    mine.state = { network: { state: "Unknown", unknown: { reason: "no answer of the server", since: mine.now.interval.end, detail: e.message } }, live: false };
  }
  status();
}

function fail(e) {
  if (e.name === "AbortError") return; // another fabric was chosen
  $("status").className = "stale";
  $("status").textContent = e.message;
}

// listen follows the stream; what is stored is asked for once it is open, so that no
// interval falls between.
function listen() {
  const load = () => (view?.name ? refresh(view) : choose()).catch(fail);
  const stream = new EventSource("api/v1/stream");
  stream.addEventListener("interval", (e) => {
    if (JSON.parse(e.data).fabric === view?.name) refresh(view).catch(fail);
  });
  stream.onopen = load;
  stream.onerror = () => fail(new Error("connection lost, trying again"));
}

drawLegend($("legend"));
$("fabric").addEventListener("change", () => choose($("fabric").value).catch(fail));
$("least").addEventListener("change", () => view && refresh(view).catch(fail));
$("metric").addEventListener("change", () => showMetric(metricShown()));
$("copy").addEventListener("click", () => view?.now && copyTicket());
addEventListener("resize", paint);
setInterval(status, 1000);
listen();
