// Hosts that were probed inside (Hostping): what each one's newest run came to, and of one its graph, with the
// accused link in red, and the matrix of its pairs as a heatmap.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h, refill } from "../dom.ts";
import { count, many, span, sure, when, words } from "../format.ts";
import type { HostReport, HostRun } from "../types.ts";
import { centre, drawing } from "./hostgraph.ts";

const rowsAtOnce = 100;

/** ProbedHosts lists thousands of hosts, those with a verdict first; one that is picked is shown above the list. */
export class ProbedHosts {
  readonly section: HTMLElement;
  readonly list = h("div", null, h("p", null, "loading"));
  private readonly picked = h("section", { class: "host", attrs: { tabindex: "-1", "aria-label": "host" } });
  private readonly filter: HTMLInputElement;
  private hosts: HostRun[] = [];
  private most = rowsAtOnce;

  constructor(private readonly app: App) {
    this.filter = h("input", { attrs: { type: "search", placeholder: "name, link or outcome", "aria-label": "filter hosts by name, link or outcome" }, on: { input: () => { this.most = rowsAtOnce; this.draw(); } } });
    this.section = h("section", null, this.picked, this.list);
  }

  fill(hosts: HostRun[]) {
    this.hosts = hosts;
    if (!hosts.length) {
      this.list.replaceChildren(h("p", null, "No host was probed in the last 7 days. ", h("code", null, "giverny hostping launch --host NAME --dry-run"), " shows what probing a host would do."));
      return;
    }
    if (!this.filter.isConnected) this.list.replaceChildren(h("p", { class: "summary" }), h("p", { class: "pick" }, this.filter), h("div", { class: "wide" }), h("p", null));
    this.draw();
  }

  private draw() {
    const [summary, , table, more] = [...this.list.children] as HTMLElement[];
    const slow = this.hosts.filter((r) => r.verdicts.length > 0).length;
    summary.textContent = `${many(this.hosts.length, "host")} probed, ${many(slow, "has", "have")} a bottleneck inside.`;
    const part = this.filter.value.trim().toLowerCase();
    const found = part ? this.hosts.filter((r) => [r.agent, r.model, r.sentence, ...r.verdicts.flatMap((v) => [v.accused, words(v.bottleneck)])].some((text) => text?.toLowerCase().includes(part))) : this.hosts;
    refill(table, h("table", null, h("thead", null, h("tr", null, ...["host", "probed", "state", "triggered by"].map((n) => h("th", null, n)), h("th", { class: "number" }, "probes"), h("th", { class: "number" }, "time"), h("th", null, "outcome"))),
      h("tbody", null, ...found.slice(0, this.most).map((r) => this.row(r)))));
    const left = found.length - this.most;
    more.replaceChildren(...left > 0 ? [h("button", { attrs: { type: "button" }, on: { click: () => { this.most += 5 * rowsAtOnce; this.draw(); } } }, `Show more (${many(left, "host")} left)`)] : found.length ? [] : ["No host matches."]);
  }

  private row(r: HostRun): HTMLElement {
    return h("tr", null,
      h("td", null, h("button", { class: "link", data: { key: r.agent ?? "" }, attrs: { type: "button" }, on: { click: () => this.app.go({ run: addressOf(r) }, true) } }, r.agent ?? "")),
      h("td", null, when(r.time)), h("td", null, words(r.state)), h("td", null, words(r.trigger)), h("td", { class: "number" }, count(r.probes)), h("td", { class: "number" }, span(r.seconds)),
      h("td", { class: r.verdicts.length ? "High" : "Neg" }, r.sentence ?? ""));
  }

  /** show shows the run that the address names, if it is not there already. */
  show() {
    const into = this.picked, address = this.app.state.run;
    if ((into.dataset.run ?? "") === address) return;
    into.dataset.run = address;
    if (!address) { into.replaceChildren(); return; }
    const [agent, run] = atAddress(address);
    into.replaceChildren(h("h3", null, agent), h("p", null, "loading"));
    into.focus();
    into.scrollIntoView({ block: "start" });
    const close = h("button", { class: "close", attrs: { type: "button" }, on: { click: () => this.app.go({ run: "" }, true) } }, "Close");
    this.app.model?.api.host(agent, run).then((r) => {
      if (into.dataset.run !== address) return;
      into.replaceChildren(close, ...hostParts(r));
      centre(into);
    }).catch((e) => {
      if (!isAbort(e) && into.dataset.run === address) into.replaceChildren(close, h("h3", null, agent), h("p", { class: "Medium" }, (e as Error).message));
    });
  }
}

/** addressOf is a host with its run, as the address has them. */
const addressOf = (r: HostRun) => `${encodeURIComponent(r.agent ?? "")}/${r.run_id}`;

function atAddress(address: string): [agent: string, run: string] {
  const [agent, ...run] = address.split("/");
  try { return [decodeURIComponent(agent), run.join("/")]; } catch { return [agent, run.join("/")]; }
}

function hostParts(r: HostReport): HTMLElement[] {
  const accused = new Set(r.report.verdicts.flatMap((v) => [v.link, v.link ? "" : v.rnic]).filter(Boolean));
  const verdicts = r.report.verdicts.flatMap((v) => {
    const cleared = Object.keys(v.evidence.cleared);
    return [h("p", { class: "High" }, `${words(v.bottleneck)}, ${sure(v.confidence)} sure: ${v.text.split("; cleared: ")[0]}`),
      ...cleared.length ? [h("details", null, h("summary", null, `${many(cleared.length, "other link")} of its paths cleared`), h("ul", null, ...cleared.map((id) => h("li", null, `${id}, by ${v.evidence.cleared[id].join(" to ")}`))))] : []];
  });
  const missing = r.report.unmeasured.map((u) => h("li", null, `${u.rnic} to ${u.endpoint}: ${u.reason}`));
  return [h("h3", null, r.run.agent ?? ""), h("p", null, `Run of ${when(r.run.time)}, ${words(r.run.state)} host, ${many(r.run.probes, "probe")}; model ${r.report.model}.`),
    ...verdicts.length ? verdicts : [h("p", null, r.run.sentence ?? "")],
    ...r.graph.links.length ? [drawing(r.graph, accused)] : [h("p", null, "The host's graph was too large for the agent's answer and was omitted.")],
    ...r.report.matrix.length ? [h("div", { class: "matrices" }, heatmap(r, rate), heatmap(r, latency))] : [],
    ...r.report.notes.map((n) => h("p", null, n)),
    ...missing.length ? [h("details", null, h("summary", null, `${many(missing.length, "pair")} not measured`), h("ul", null, ...missing))] : []];
}

/** Quantity is what a heatmap shows of a pair: a value beside its baseline, and how bad the ratio is, 0 to 1. */
interface Quantity { caption: string; of: (c: Cell) => [number, number]; bad: (ratio: number) => number }
type Cell = HostReport["report"]["matrix"][number];

// Half of the rate, or twice the latency, is as red as it gets; from 5% on it is tinted at all, which is noise.
const rate: Quantity = { caption: "Loopback rate of each pair, percent of its baseline", of: (c) => [c.gbps, c.baseline_gbps], bad: (x) => 2 * (0.95 - x) };
const latency: Quantity = { caption: "Latency of a small message, percent of its baseline", of: (c) => [c.latency_us, c.baseline_latency_us], bad: (x) => x - 1.05 };

/** heatmap has a row for each RNIC and a column for each endpoint; the text says what the colour does. */
function heatmap(r: HostReport, q: Quantity): HTMLElement {
  const key = (rnic: string, endpoint: string) => JSON.stringify([rnic, endpoint]);
  const cells = new Map(r.report.matrix.map((c) => [key(c.rnic, c.endpoint), c]));
  const missing = new Map(r.report.unmeasured.map((u) => [key(u.rnic, u.endpoint), u.reason]));
  const rnics = r.graph.rnics.length ? r.graph.rnics.map((n) => n.id) : [...new Set(r.report.matrix.map((c) => c.rnic))];
  const endpoints = r.graph.endpoints.length ? r.graph.endpoints.map((e) => e.id) : [...new Set(r.report.matrix.map((c) => c.endpoint))];
  const rows = rnics.map((n) => h("tr", null, h("th", { title: n, attrs: { scope: "row" } }, n), ...endpoints.map((e) => {
    const c = cells.get(key(n, e));
    if (!c) return h("td", { class: "number Neg", title: `${n} to ${e}: ${missing.get(key(n, e)) ?? "not probed"}` }, "–");
    const [now, base] = q.of(c), ratio = base > 0 ? now / base : 0;
    const title = `${n} to ${e}: ${c.gbps.toFixed(1)} of ${c.baseline_gbps.toFixed(1)} Gb/s, ${c.latency_us.toFixed(2)} of ${c.baseline_latency_us.toFixed(2)} us`;
    const cell = h("td", { class: "number", title }, ratio > 0 ? `${Math.round(100 * ratio)}` : "?");
    if (ratio > 0) cell.style.setProperty("--bad", `${Math.round(100 * Math.min(1, Math.max(0, q.bad(ratio))))}`);
    return cell;
  })));
  return h("div", { class: "wide", attrs: { tabindex: "0", role: "group", "aria-label": q.caption } }, h("table", { class: "host-matrix" }, h("caption", null, q.caption),
    h("thead", null, h("tr", null, h("td", null), ...endpoints.map((e) => h("th", { title: e, attrs: { scope: "col" } }, e)))), h("tbody", null, ...rows)));
}
