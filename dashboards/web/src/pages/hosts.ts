// The hosts: the congestion score of each, the links of the worst, and what probes inside hosts came to.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { many, words } from "../format.ts";
import { probedHosts } from "./hostping.ts";
import type { HostRun, NodeScores } from "../types.ts";

let asked = 0;
const picked = h("section", { class: "host" });

export function hostsPage(app: App, into: HTMLElement) {
  const model = app.model;
  if (into.dataset.page === "hosts" && Date.now() - asked < 3000) return;
  asked = Date.now();
  if (into.dataset.page !== "hosts") into.replaceChildren(h("h2", null, "Hosts"), h("p", null, "loading"));
  into.dataset.page = "hosts";
  if (!model) return;
  Promise.all([model.api.scores(), model.api.hosts()]).then(([a, probed]) => { if (app.state.page === "hosts") fill(app, into, a, probed); }).catch((e) => {
    if (!isAbort(e)) into.replaceChildren(h("h2", null, "Hosts"), h("p", { class: "Medium" }, (e as Error).message));
  });
}

function fill(app: App, into: HTMLElement, a: NodeScores, probed: HostRun[]) {
  const rows = a.nodes.slice(0, 500).map((n) => h("tr", null, h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.go({ page: "map", select: "device:" + n.node }, true) } }, n.node)),
    h("td", { class: "number" }, n.score.toFixed(0)), h("td", null, words(n.relation ?? "")), h("td", null, n.reason ?? "")));
  into.replaceChildren(h("h2", null, "Hosts"), h("p", null, a.nodes.length ? `${many(a.nodes.length, "node")} with a congestion score of 1 or above, the highest first; the score is for the next intervals, 0 to 100.` : "No node has a congestion score of 1 or above."),
    ...rows.length ? [h("table", null, h("thead", null, h("tr", null, h("th", null, "node"), h("th", { class: "number" }, "score"), h("th", null, "relation"), h("th", null, "why"))), h("tbody", null, ...rows))] : [],
    h("h2", null, "Inside hosts"), ...probedHosts(app, probed, picked));
}
