// Sharing: the address of the view, and the picture or the numbers as a file.
import type { App } from "./app.ts";
import { $, h, setText } from "./dom.ts";
import type { Mapper } from "./map/mapper.ts";
import { copyText } from "./panel/diagnosis.ts";

export class Sharing {
  private readonly said = h("output", { attrs: { role: "status" } });
  private readonly ends = { from: this.input("From"), to: this.input("To") };

  constructor(private readonly app: App, private readonly mapper: Mapper) {}

  start() {
    const item = (text: string, does: () => void) => h("button", { attrs: { type: "button" }, on: { click: does } }, text);
    $("sharing").append(item("Copy a link to this view", () => void this.address()), item("Save as PNG", () => this.png()), item("Save as SVG", () => this.svg()), item("Save links as CSV", () => this.csv()), this.said);
    $("path").append(this.ends.from, this.ends.to);
    for (const [key, input] of Object.entries(this.ends)) input.addEventListener("change", () => this.app.go({ [key]: input.value.trim() }, true));
  }

  private input(text: string) { return h("input", { attrs: { placeholder: text + " host or switch", "aria-label": text + " host or switch", list: "names" } }); }

  /** pathInputs shows the ends of the path view. */
  pathInputs(shown: boolean) {
    $("path").hidden = !shown;
    for (const [key, input] of Object.entries(this.ends)) if (document.activeElement !== input) input.value = this.app.state[key as "from" | "to"];
  }

  private name(ending: string) { return `giverny-${this.app.model?.fabric.name ?? ""}-${this.app.model?.interval?.now.interval.start ?? ""}`.replace(/[^A-Za-z0-9.-]+/g, "-") + "." + ending; }

  private save(content: Blob, ending: string) {
    const address = URL.createObjectURL(content), a = h("a", { attrs: { href: address, download: this.name(ending) } });
    a.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    setText(this.said, "saved " + this.name(ending));
  }

  /** address holds the instant too, so that it shows the same tomorrow. */
  private async address() {
    const at = new URL(location.href), shown = this.app.model?.interval?.now.interval.start;
    if (shown) at.searchParams.set("at", shown);
    setText(this.said, await copyText(at.href) ? "copied" : at.href);
  }

  private png() { this.mapper.canvas()?.toBlob((b) => b && this.save(b, "png"), "image/png"); }

  private svg() {
    const text = this.mapper.svg();
    if (text) this.save(new Blob([text], { type: "image/svg+xml" }), "svg"); else setText(this.said, "the 3D view cannot be saved as SVG: choose Planes, or save a PNG");
  }

  private csv() { const i = this.app.model?.interval; if (i) this.save(new Blob([csvOf(i)], { type: "text/csv" }), "csv"); }
}

/** cell quotes a text for CSV; one that a spreadsheet would run as a formula gets an apostrophe. */
const cell = (t: string | number) => { const s = typeof t === "string" && /^[=+\-@\t\r]/.test(t) ? "'" + t : String(t); return /[",\n\r]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s; };

/** csvOf are the links of an interval with their values in percent. */
function csvOf(i: import("./model.ts").Interval): string {
  const g = i.graph, metrics = Object.keys(i.values), region = new Map<number, string>();
  for (const r of i.now.regions) for (const l of r.links) region.set(l, String(r.id ?? ""));
  const lines = [["link", "from", "from_port", "to", "to_port", "class", "up", ...metrics.map((m) => m + "_percent"), "region"].join(",")];
  for (let id = 0; id < g.size; id++) {
    lines.push([id, g.devices[g.from[id]].name, g.links.from_port[id], g.devices[g.to[id]].name, g.links.to_port[id], g.links.class[id], String(g.links.up[id]),
      ...metrics.map((m) => { const v = i.values[m][id]; return v === v ? Number(v.toFixed(2)) : ""; }), region.get(id) ?? ""].map(cell).join(","));
  }
  return lines.join("\n") + "\n";
}
