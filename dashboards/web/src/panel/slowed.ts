// The collectives of jobs that a region cost time, by what was published of them.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { $, h } from "../dom.ts";
import type { Region } from "../types.ts";

const most = 8, again = 60_000; // ms

export class Slowed {
  private asked = "";

  constructor(private readonly app: App) {}

  /** show lists the collectives of a region; the question is asked once a minute. */
  show(region: Region | undefined) {
    const id = String(region?.id ?? ""), model = this.app.model!, key = `${model.fabric.name} ${id} ${Math.floor(Date.now() / again)}`;
    if (key === this.asked) return;
    if (!this.asked.startsWith(`${model.fabric.name} ${id} `)) $("slowed").hidden = true;
    this.asked = key;
    if (!id || id === "0") return;
    model.api.collectivesOf(id).then((found) => {
      if (this.asked !== key) return;
      const list = found.slice(0, most).map((c) => h("li", { class: c.cost_ns ? "High" : "Neg" }, c.text));
      $("slowed").hidden = !list.length;
      $("slowed").replaceChildren(h("h3", null, "Collectives that it slowed"), h("ul", null, ...list, found.length > most ? h("li", { class: "none" }, `and ${found.length - most} others`) : null),
        h("button", { class: "link", attrs: { type: "button" }, on: { click: () => this.app.go({ page: "collectives" }, true) } }, "All collectives"));
    }).catch((e) => { if (!isAbort(e) && this.asked === key) this.asked = ""; });
  }
}
