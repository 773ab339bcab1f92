// The panel beside the map: the state of the network, regions, the diagnosis of one, jobs,
// hot links, events, and what was clicked.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { rank } from "../colour.ts";
import { $, h, refill, setText } from "../dom.ts";
import { clock, count, inWords, many, metricName, percent, secondsBetween, span, unknownReason as reason, unknownTodo, when, words } from "../format.ts";
import { plainName } from "../graph.ts";
import type { Diagnosis, FabricEvent, Region, Unknown } from "../types.ts";
import { Anomalies } from "./anomalies.ts";
import { Slowed } from "./slowed.ts";
import { copyText, fillDiagnosis, inShort, ticket, type Jobs } from "./diagnosis.ts";
import { fillForecast } from "./forecast.ts";
import { fillJobs } from "./jobs.ts";
import { fillPicked } from "./picked.ts";
import { RegionPlot } from "./plot.ts";
import { counted, RegionList, regionName, unread } from "./regions.ts";
import { rove } from "./roving.ts";
import { eventsOnce, once } from "./twins.ts";

const replayed = 86_400; // seconds from counter to store that say that data of the past were replayed
const lowPercent = 5; // of an interval stalled: where Low begins
const called = (state: string) => state === "Neg" ? "calm" : state + " congestion";

export class Side {
  private readonly list: RegionList;
  private readonly plot = new RegionPlot($("plot"));
  private readonly anomalies: Anomalies;
  private readonly slowed: Slowed;
  private fault = ""; // of what went wrong

  constructor(private readonly app: App) {
    this.anomalies = new Anomalies(app);
    this.slowed = new Slowed(app);
    this.list = new RegionList($("regions"), () => app.paint(), (r) => app.chooseRegion(r));
    for (const [list, entries] of [["regions", "li[data-key]"], ["jobs", "button"], ["hot", "button"], ["events", "button"]]) rove($(list), entries);
    const copied = h("output", { id: "copied", attrs: { role: "status" } });
    $("actions").append(h("button", { id: "copy", attrs: { type: "button" }, on: { click: () => void this.copy(copied) } }, "Copy as ticket"),
      h("button", { id: "toroot", attrs: { type: "button" }, on: { click: () => this.toRoot() } }, "Show root port"),
      h("button", { id: "tobirth", attrs: { type: "button" }, on: { click: () => this.toBirth() } }, "Go to its start"), copied);
  }

  get pointed(): Region | null { return this.list.pointed; }
  private get interval() { return this.app.model!.interval!; }
  private duration = (intervals: number) => span(intervals * (this.app.model?.fabric.interval_seconds ?? 1));
  private jobs(): Jobs { return new Map(this.app.model!.jobs.map((j) => [j.job_id, j])); }

  /** diagnosis is that of the region that was chosen, or of the worst that has one. */
  diagnosis(): Diagnosis | undefined {
    const i = this.app.model?.interval, r = this.app.region();
    if (!i) return undefined;
    const of = (region: Region | undefined) => region && i.now.diagnoses.find((d) => d.region === String(region.id));
    if (this.app.state.region && r && String(r.id) === this.app.state.region) return of(r);
    return of(r) ?? of(i.now.regions.find((x) => of(x)));
  }

  private shownRegion(): Region | undefined {
    const d = this.diagnosis();
    return (d && this.app.model!.interval!.now.regions.find((r) => String(r.id) === d.region)) ?? this.app.region();
  }

  show() {
    const { model } = this.app;
    this.top();
    if (!model!.interval) { this.wait(); return; }
    const { now } = this.interval;
    const { shown, standsFor } = once(now.regions, now.diagnoses), chosen = String(this.shownRegion()?.id ?? "");
    const diagnoses = new Map(now.diagnoses.map((d) => [d.region, d])), jobs = this.jobs();
    this.list.show(shown, String(standsFor.get(chosen)?.id ?? chosen), this.duration, (r) => { const d = diagnoses.get(String(r.id)); return d ? inShort(d, jobs) : ""; }, this.unknown() ? "unknown while data are missing" : shown.length ? "" : this.hottest());
    setText($("counted"), shown.length > 1 ? counted(shown) : "");
    this.state();
    this.why();
    this.compared();
    fillPicked(this.app);
    fillJobs($("jobs"), this.app, now.regions, this.duration, !this.unknown());
    this.hot();
    this.events(model!.events);
  }

  /** top shows what stands above every page: the congestion event, and of when the picture is. */
  top() {
    const { model, state } = this.app, now = model!.interval?.now, rce = now?.congestion;
    this.fault = "";
    $("rce").hidden = !rce;
    if (rce) {
      const calmFor = secondsBetween(rce.end, now!.interval.end);
      $("rce").classList.toggle("past", calmFor > 0);
      setText($("rce"), calmFor > 0 ? `Congestion event, High ${span(calmFor)} ago` : `Congestion event for ${span(secondsBetween(rce.begin, now!.interval.end))}`);
      $("rce").title = `High regions since ${clock(rce.begin)} UTC, last seen ${clock(rce.end)}; the worst region's mean was ${percent(rce.peak_mean_percent)}`;
    }
    if (now) { this.status(); return; }
    $("status").className = "";
    setText($("status"), state.at ? "nothing stored at that time" : "waiting for the first interval");
  }

  private wait() {
    const { state } = this.app;
    setText($("severity"), state.at ? "nothing stored at that time" : "no data yet");
    $("severity").className = "Unknown";
    for (const id of ["diagnosis", "compared", "picked"]) $(id).hidden = true;
    this.absent();
    for (const id of ["facts", "forecast"]) $(id).replaceChildren();
    this.list.show([], "", this.duration, () => "");
    setText($("counted"), "");
    $("jobs").replaceChildren(h("li", { class: "none" }, "no job known"));
    for (const id of ["hot", "events"]) $(id).replaceChildren(h("li", { class: "none" }, "none yet"));
  }

  /** absent says why nothing is stored yet, once that has lasted for as long as until the server counts as not ready. */
  private absent() {
    const { model, state } = this.app, why = state.at ? undefined : model?.status?.network.unknown;
    const long = !!why?.since && Date.now() - Date.parse(why.since) >= 1000 * Math.max(10, 3 * model!.fabric.interval_seconds);
    $("why").hidden = $("todo").hidden = !long;
    if (!why || !long) return;
    setText($("why"), `since ${when(why.since)}: ${reason(why)}`);
    setText($("todo"), unknownTodo(why));
  }

  private state() {
    const { now } = this.interval, { fabric } = this.interval.graph, metric = this.app.metricShown();
    this.severity();
    const facts: [string, string | number][] = [["switches", fabric.switches], ["hosts", fabric.hosts], ["their adapters", fabric.adapters === fabric.hosts ? "" : fabric.adapters], ["links", fabric.links],
      ["links measured", (100 * (now.coverage[metric] ?? 0)).toFixed(1) + "%"], ["counter to store", !now.latency_seconds || now.latency_seconds > replayed ? "" : now.latency_seconds < 120 ? now.latency_seconds.toFixed(2) + " s" : span(now.latency_seconds)]];
    $("facts").replaceChildren(...facts.filter(([, v]) => v).flatMap(([k, v]) => [h("dt", null, k), h("dd", null, typeof v === "number" ? count(v) : v)]));
  }

  /** unknown is why the state is not known: of now, or of the interval that is shown. */
  private unknown(): Unknown | undefined { return (this.app.state.at ? undefined : this.app.model?.status?.network.unknown) ?? this.interval.now.network.unknown; }

  private severity() {
    const { now } = this.interval, why = this.unknown(), state = now.network.state, live = !this.app.state.at && this.app.model?.status?.live;
    $("severity").className = why ? "Unknown" : state;
    $("severity").replaceChildren(why ? "unknown" : called(state), why || live || this.app.state.at ? "" : h("small", null, ", " + when(now.interval.end)),
      why || state !== "Neg" || !now.hot.length ? "" : h("small", null, `, but ${many(new Set(now.hot.map((x) => x.link)).size, "hot link")}`));
    $("why").hidden = $("todo").hidden = !why;
    fillForecast($("forecast"), why ? null : now.network, this.duration);
    if (!why) return;
    const since = now.network.unknown?.since ?? now.interval.end;
    setText($("why"), `since ${when(since)}: ${reason(why)}${now.network.state === "Unknown" ? "" : `. Last known: ${called(state)}`}`);
    setText($("todo"), unknownTodo(why));
  }

  /** status says of when the picture is, or why that is not known. */
  status() {
    const { app } = this, model = app.model, out = $("status"), trouble = this.fault || (app.online ? "" : "connection lost, reconnecting");
    if (trouble) { out.className = "stale"; setText(out, trouble); }
    if (model?.loaded && !model.interval) this.absent();
    if (!model?.interval || !model.status) return;
    this.severity();
    if (trouble) return;
    const { now } = this.interval, { status } = model, why = this.unknown();
    if (app.state.at) { out.className = ""; setText(out, `${when(now.interval.start)}, the past`); return; }
    const age = (status.age_seconds ?? (model.answered - Date.parse(now.interval.end)) / 1000) + (Date.now() - model.answered) / 1000;
    out.className = status.live && !why ? "live" : "stale";
    setText(out, when(now.interval.end) + (why ? `, ${span(age)} old: ${reason(why)}` : status.live ? ", live" : `, ${span(age)} old`));
  }

  trouble(text: string) {
    this.fault = text;
    $("status").className = "stale";
    setText($("status"), text);
  }

  private why() {
    const { app } = this, d = this.diagnosis(), r = this.shownRegion();
    $("diagnosis").hidden = !d && !r;
    if (!d && !r) { this.plot.clear(); return; }
    fillDiagnosis($("verdict"), d, r, this.jobs(), r?.age_intervals ? this.duration(r.age_intervals) : "");
    this.anomalies.show(r, d);
    this.slowed.show(r);
    $("copy").hidden = !d;
    $("toroot").hidden = !d?.root && !r?.root;
    $("tobirth").hidden = !r?.birth;
    const id = r?.id ?? d?.region;
    if (!id) { this.plot.clear(); return; }
    this.plot.show(app.model!.api, { id: String(id), birth: r?.birth }, d, this.interval.now.interval.start, app.model!.fabric.interval_seconds).catch((e) => { if (!isAbort(e)) this.plot.none(); });
  }

  private toRoot() {
    const d = this.diagnosis(), r = this.shownRegion(), g = this.interval.graph, link = d?.root?.link ?? r?.root?.link ?? -1, device = g.device(d?.root?.device ?? r?.root?.device ?? "");
    this.app.reveal = true;
    if (link >= 0 && link < g.size) this.app.select({ link }); else if (device !== undefined) this.app.select({ device });
  }

  private toBirth() { const birth = this.shownRegion()?.birth; if (birth) this.app.showAt(birth); }

  private async copy(out: HTMLElement) {
    const d = this.diagnosis();
    if (!d) return;
    const at = new URL(location.href);
    at.searchParams.set("at", this.interval.now.interval.start);
    at.searchParams.set("region", d.region);
    const done = await copyText(ticket(d, this.shownRegion(), this.app.model!.fabric.name, this.jobs(), at.href));
    setText(out, done ? "copied" : "the browser denied access to the clipboard");
    setTimeout(() => setText(out, ""), 3000);
  }

  /** compared lists what became of the regions between two instants. */
  private compared() {
    const both = this.app.model!.compared;
    $("compared").hidden = !both;
    if (!both) return;
    const [earlier, later] = both.map((i) => i.now), [before, after] = [earlier, later].map((now) => new Map(now.regions.map((r) => [String(r.id), r]))), ids = [...new Set([...after.keys(), ...before.keys()])];
    const cell = (r: Region | undefined) => h("td", null, r ? h("b", { class: r.severity }, r.severity) : "\u2013", r ? `, ${r.size} links${unread(r)}, ${r.mean.toFixed(0)}%` : "");
    const rows = ids.sort((a, b) => worst(after.get(b), before.get(b)) - worst(after.get(a), before.get(a))).slice(0, 12).map((id) => h("tr", null, h("td", null, regionName((after.get(id) ?? before.get(id))!)), cell(before.get(id)), cell(after.get(id))));
    refill($("changes"), h("table", null, h("thead", null, h("tr", null, h("th", null, "region"), h("th", null, clock(earlier.interval.start)), h("th", null, clock(later.interval.start)))), h("tbody", null, ...rows)),
      h("div", { class: "actions" }, h("button", { attrs: { type: "button" }, on: { click: () => this.app.compareWith("") } }, "End comparison")));
  }

  /** hottest names, where there is no region, the links that stall nevertheless: a single hot cable is no region. */
  private hottest(): string {
    const { values, graph } = this.interval, v = values[this.app.metricShown()], links: number[] = [];
    v?.forEach((percent, l) => { if (percent >= lowPercent) links.push(l); });
    return "no region" + (links.length ? "; the hottest links: " + links.sort((a, b) => v[b] - v[a]).slice(0, 5).map((l) => `${graph.linkShort(l)} ${percent(v[l])}`).join(", ") : "");
  }

  /** hot lists the links that have been hot for longest. */
  private hot() {
    const { now, values, graph } = this.interval, metric = this.app.metricShown();
    const items = now.hot.filter((x) => x.metric === metric && x.link < graph.size).slice(0, 6).map((x) => h("li", { title: `${graph.linkText(x.link)} (link ${x.link}), hot since ${clock(x.since)} UTC` },
      h("button", { class: "link", data: { key: String(x.link) }, attrs: { type: "button" }, on: { click: () => this.app.select({ link: x.link }) } }, graph.linkShort(x.link)),
      h("time", null, `${percent(Number.isNaN(values[metric][x.link]) ? null : values[metric][x.link])}, ${span(secondsBetween(x.since, now.interval.end))}`)));
    refill($("hot"), ...items.length ? items : [h("li", { class: "none" }, metric ? `no hot link by ${metricName(metric)}` : "no stall measured")]);
  }

  private events(events: FabricEvent[]) {
    const items = eventsOnce(events.slice(-60)).slice(-40).reverse().map((e) => h("li", { class: e.kind === "story" ? "story" : "" },
      h("time", null, h("button", { class: "link", title: "Go to this instant", data: { key: e.time + eventText(e) }, attrs: { type: "button" }, on: { click: () => this.app.showAt(e.time) } }, clock(e.time))), eventText(e)));
    refill($("events"), ...items.length ? items : [h("li", { class: "none" }, "none in the time shown")]);
  }
}

const worst = (a?: Region, b?: Region) => Math.max(rank(a?.severity ?? "Neg"), rank(b?.severity ?? "Neg"));

/** eventText says what happened; the detail alone where it is a sentence of its own. */
function eventText(e: FabricEvent): string {
  if (e.detail && /^(story|region_|congestion_began|congestion_ended)/.test(e.kind)) return e.kind === "story" ? e.detail : (e.kind === "region_born" ? "new " : "") + inWords(e.detail);
  return [words(e.kind), e.device && plainName(e.device), e.port].filter(Boolean).join(" ") + (e.detail ? ": " + e.detail : "");
}
