// The hosts: the congestion score of each, the links of the worst, and what probes inside hosts came to.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { inWords, many, unknownReason, unknownTodo, words } from "../format.ts";
import { causeName } from "../panel/diagnosis.ts";
import { ProbedHosts } from "./hostping.ts";
import type { NodeScores } from "../types.ts";

const scoresEvery = 3_000, probesEvery = 60_000; // ms; a host is probed every 5 minutes at most

/** shown is what the page consists of. It is filled in place, so that focus, filter and place stay over an interval. */
let shown: { fabric: string; scores: HTMLElement; probed: ProbedHosts; scored: number; listed: number } | undefined;

export function hostsPage(app: App, into: HTMLElement) {
  const model = app.model;
  if (into.dataset.page !== "hosts" || shown?.fabric !== app.state.fabric) {
    shown = { fabric: app.state.fabric, scores: h("section", null, h("p", null, "loading")), probed: new ProbedHosts(app), scored: 0, listed: 0 };
    into.replaceChildren(h("h2", null, "Hosts"), shown.scores, h("h2", null, "Inside hosts"), shown.probed.section);
  }
  into.dataset.page = "hosts";
  if (!model) return;
  const page = shown, now = Date.now();
  page.probed.show();
  const failed = (where: HTMLElement) => (e: unknown) => { if (!isAbort(e)) where.replaceChildren(h("p", { class: "Medium" }, (e as Error).message)); };
  if (now - page.scored >= scoresEvery) {
    page.scored = now;
    model.api.scores().then((a) => page.scores.replaceChildren(...scoreParts(app, a))).catch(failed(page.scores));
  }
  if (now - page.listed >= probesEvery) {
    page.listed = now;
    model.api.hosts().then((hosts) => page.probed.fill(hosts)).catch(failed(page.probed.list));
  }
}

/** sameFrom counts how often the text at i follows itself: nodes with one reason share its cell. */
const sameFrom = (texts: string[], i: number) => { let n = i + 1; while (n < texts.length && texts[n] === texts[i]) n++; return n - i; };

const mostRows = 500; // of the nodes of a large fabric; the API has all

function scoreParts(app: App, a: NodeScores): HTMLElement[] {
  const listed = a.nodes.slice(0, mostRows), because = listed.map((n) => inWords(n.reason ?? "").replace(/\bcause (\w+) \(/, (_, name: string) => `cause: ${causeName(name)} (`));
  const rows = listed.map((n, i) => h("tr", null, h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.go({ page: "map", select: "device:" + n.node }, true) } }, n.node)),
    h("td", { class: "number" }, n.score.toFixed(0)), h("td", null, words(n.relation ?? "")), because[i] === because[i - 1] ? null : h("td", { attrs: { rowspan: String(sameFrom(because, i)) } }, because[i])));
  const text = a.unknown ? `The scores are unknown, as is the state of the network: ${unknownReason(a.unknown)}. ${unknownTodo(a.unknown)}` : a.nodes.length ? `${many(a.nodes.length, "node")} with a congestion score of 1 or above, the highest first${a.nodes.length > mostRows ? `, of which ${mostRows} are listed` : ""}; the score is for the next intervals, 0 to 100.` : "No node has a congestion score of 1 or above.";
  return [h("p", null, text), ...rows.length ? [h("div", { class: "wide scores" }, h("table", null, h("thead", null, h("tr", null, h("th", null, "node"), h("th", { class: "number" }, "score"), h("th", null, "relation"), h("th", null, "why"))), h("tbody", null, ...rows)))] : []];
}
