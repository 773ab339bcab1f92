// The searches for anomalies of network cards: those that were launched, and what is known by now.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { condition, count, many, span, subsystem, when, words } from "../format.ts";
import type { KnownAnomaly, Search } from "../types.ts";

let asked = 0;

export function searchesPage(app: App, into: HTMLElement) {
  if (into.dataset.page === "searches" && Date.now() - asked < 3000) return;
  asked = Date.now();
  if (into.dataset.page !== "searches") into.replaceChildren(h("h2", null, "Searches"), h("p", null, "loading"));
  into.dataset.page = "searches";
  const api = app.model?.api;
  if (!api) return;
  Promise.all([api.searches(), api.knownAnomalies()]).then(([searches, known]) => {
    if (app.state.page === "searches") into.replaceChildren(h("h2", null, "Searches"), ...launched(app, searches), h("h2", null, "Known anomalies"), ...anomalies(known));
  }).catch((e) => {
    if (!isAbort(e)) into.replaceChildren(h("h2", null, "Searches"), h("p", { class: "Medium" }, (e as Error).message));
  });
}

const head = (...names: string[]) => h("thead", null, h("tr", null, ...names.map((n) => h("th", null, n))));

function launched(app: App, searches: Search[]): HTMLElement[] {
  if (!searches.length) return [h("p", null, "No search was launched in the last 30 days. ", h("code", null, "giverny search launch --region ID --dry-run"), " shows what a search of the network card at a region's root would do.")];
  const rows = searches.flatMap((s) => (s.agents.length ? s.agents : [undefined]).map((a) => h("tr", null,
    h("td", null, when(s.requested)), h("td", null, s.principal + (s.why ? ": " + s.why : "")), h("td", null, region(app, s.region)), h("td", null, subsystem(a?.subsystem ?? s.subsystem)),
    h("td", null, a ? `${a.agent}${a.adapter ? " " + a.adapter : ""}` : "no answer yet"), h("td", null, a ? words(a.status) + (a.reason ? ": " + a.reason : "") : "requested"),
    h("td", { class: "number", ...s.restrict ? { title: "within " + JSON.stringify(s.restrict) } : {} }, `${count(a?.experiments ?? 0)} of ${count(s.budget)}${s.restrict ? ", restricted" : ""}`), h("td", { class: "number" }, a ? span(a.seconds) : ""), h("td", { class: "number" }, count(a?.anomalies ?? 0)))));
  return [h("table", null, head("requested", "by", "region", "network card", "agent", "state", "experiments", "time", "anomalies"), h("tbody", null, ...rows))];
}

function region(app: App, id: string | undefined): HTMLElement | string {
  if (!id) return "";
  return h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.go({ page: "map", region: id }, true) } }, id);
}

function anomalies(known: KnownAnomaly[]): HTMLElement[] {
  if (!known.length) return [h("p", null, "No anomaly is known for the network cards of this fabric.")];
  const rows = known.map((k) => h("tr", null, h("td", null, subsystem(k.subsystem)), h("td", null, k.symptom), h("td", null, condition(k.mfs)),
    h("td", null, when(k.last)), h("td", { class: "number" }, count(k.searches.length))));
  return [h("p", null, `${many(known.length, "anomaly", "anomalies")}: a workload that meets all of the conditions shows the symptom.`),
    h("table", null, head("network card", "symptom", "conditions", "last found", "searches"), h("tbody", null, ...rows))];
}
