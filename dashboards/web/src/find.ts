// Search by name: switches, hosts and jobs.
import type { App } from "./app.ts";
import { $, h } from "./dom.ts";
import { jobTitle, toggleJob } from "./panel/jobs.ts";

interface Hit { text: string; kind: string; go: () => void }

export class Find {
  private readonly input = $<HTMLInputElement>("find");
  private readonly list = $("found");
  private hits: Hit[] = [];
  private at = 0;

  constructor(private readonly app: App) {
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("focus", () => this.search());
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); this.at = (this.at + (e.key === "ArrowDown" ? 1 : -1) + this.hits.length) % Math.max(1, this.hits.length); this.show(); }
      if (e.key === "Enter" && this.hits[this.at]) { e.preventDefault(); this.take(this.at); }
      if (e.key === "Escape") { this.input.value = ""; this.close(); this.input.blur(); }
    });
  }

  private search() {
    const { app } = this, g = app.model?.graphInUse(), text = this.input.value.trim().toLowerCase();
    this.at = 0;
    if (!g || !text) { this.close(); return; }
    this.hits = g.search(text).map((f) => ({ text: f.text, kind: [g.devices[f.device].kind, g.group(f.device)].filter(Boolean).join(", "), go: () => { app.reveal = true; app.go({ page: "map", select: "device:" + g.devices[f.device].name }, true); } }));
    for (const j of app.model!.jobs) if (jobTitle(j).toLowerCase().includes(text) && this.hits.length < 16) this.hits.push({ text: jobTitle(j), kind: "job", go: () => { app.go({ page: "map" }); toggleJob(app, j.job_id); } });
    this.show();
  }

  private show() {
    this.list.hidden = this.input.value.trim() === "";
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    const items = this.hits.map((f, i) => h("li", { id: "hit" + i, attrs: { role: "option", "aria-selected": String(i === this.at) }, on: { pointerdown: (e) => { e.preventDefault(); this.take(i); } } }, f.text, h("small", null, f.kind)));
    this.list.replaceChildren(...items.length ? items : [h("li", { attrs: { role: "option", "aria-disabled": "true", "aria-selected": "false" } }, "no match")]);
    if (items.length) this.input.setAttribute("aria-activedescendant", "hit" + this.at); else this.input.removeAttribute("aria-activedescendant");
  }

  private take(i: number) { const hit = this.hits[i]; this.input.value = ""; this.close(); hit.go(); }

  private close() { this.list.hidden = true; this.input.setAttribute("aria-expanded", "false"); this.input.removeAttribute("aria-activedescendant"); }
}
