// The searches for anomalies of network cards: the frame of their page.
import type { App } from "../app.ts";
import { h } from "../dom.ts";

export function searchesPage(_: App, into: HTMLElement) {
  if (into.dataset.page === "searches") return;
  into.dataset.page = "searches";
  into.replaceChildren(h("h2", null, "Searches"), h("p", null, "No search has been launched from here. `giverny search run` searches the network cards of two hosts for anomalies; its findings are printed where it runs."));
}
