// The controls of time: live, step, play, jump to an incident, compare.
import type { App } from "../app.ts";
import { $, h, setText } from "../dom.ts";
import { clock, date } from "../format.ts";
import { Strip } from "./strip.ts";

const perStep = 450; // ms that playing rests on an interval

export class Controls {
  private readonly strip: Strip;
  private readonly hint = h("span", { class: "hint" });
  private readonly at = h("span", { class: "at" });
  private readonly play = this.button("Play", () => this.playing ? this.pause() : this.start(), "Play the stored past");
  private readonly live = this.button("Live", () => this.app.live(), "Follow the present (L)");
  private readonly compare = this.button("Compare", () => this.comparing(), "Compare with this instant: then pick another");
  private readonly spans: HTMLSelectElement;
  private playing: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly app: App) {
    this.strip = new Strip($("strip"), $<HTMLCanvasElement>("timeline"), (time, other) => { this.pause(); if (other) app.compareWith(time); else app.showAt(time); });
    this.strip.hover = (text) => setText(this.hint, text || this.usual());
    this.spans = h("select", { attrs: { "aria-label": "How far back" }, on: { change: () => { app.go({ span: this.spans.value }); void app.refresh(); } } },
      ...[["", "latest"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 day"]].map(([v, t]) => new Option(t, v)));
    $("controls").append(this.live, this.button("\u25c0", () => this.step(-1), "One interval back"), this.play, this.button("\u25b6", () => this.step(1), "One interval on"),
      this.button("\u21e4 Incident", () => this.incident(-1), "To the incident before"), this.button("Incident \u21e5", () => this.incident(1), "To the next incident"), this.compare, this.spans, this.at, this.hint);
  }

  private button(text: string, does: () => void, title: string) {
    return h("button", { title, attrs: { type: "button", "aria-label": title }, on: { click: does } }, text);
  }

  private usual() { return this.app.state.compare ? `compared with ${clock(this.app.state.compare)} UTC` : "click or drag the strip; with Shift to compare"; }

  private shown() { return this.app.model?.interval?.now.interval.start ?? ""; }

  show() {
    const { app } = this, model = app.model!;
    this.strip.show(model.history, model.fabric.interval_seconds, this.shown(), app.state.compare);
    this.live.setAttribute("aria-pressed", String(!app.state.at));
    this.compare.setAttribute("aria-pressed", String(app.state.compare !== ""));
    setText(this.play, this.playing ? "Pause" : "Play");
    this.spans.value = app.state.span;
    const t = this.shown();
    setText(this.at, t ? `${date(t)} ${clock(t)} UTC` : "");
    setText(this.hint, this.usual());
  }

  private step(by: number) {
    this.pause();
    const times = this.strip.times, i = this.strip.indexOf(this.shown()) + by;
    if (times[i]) this.app.showAt(times[i]);
  }

  private start() {
    const times = this.strip.times;
    if (times.length === 0) return;
    if (!this.app.state.at || this.strip.indexOf(this.shown()) >= times.length - 1) this.app.showAt(times[0]);
    const next = async () => {
      const i = this.strip.indexOf(this.shown()) + 1, list = this.strip.times;
      if (i >= list.length) { this.pause(); return; }
      this.app.go({ at: list[i] });
      await this.app.refresh();
      if (this.playing) this.playing = setTimeout(() => void next(), perStep);
    };
    this.playing = setTimeout(() => void next(), perStep);
    this.show();
  }

  pause() {
    if (!this.playing) return;
    clearTimeout(this.playing);
    this.playing = null;
    setText(this.play, "Play");
  }

  /** incident goes to the next instant at which the network became Medium or High, or something failed. */
  private incident(by: number) {
    this.pause();
    const { states, events } = this.app.model!.history, bad = (s: string) => s === "High" || s === "Medium", found: string[] = [];
    states.forEach((s, i) => { if (bad(s.state) && (i === 0 || !bad(states[i - 1].state))) found.push(s.time); });
    for (const e of events) if (/_failed$|^congestion_began$|^congestion_protection$/.test(e.kind)) found.push(this.strip.times[this.strip.indexOf(e.time)] ?? e.time);
    const shown = Date.parse(this.shown()), sorted = [...new Set(found)].sort(), to = by > 0 ? sorted.find((t) => Date.parse(t) > shown) : sorted.findLast((t) => Date.parse(t) < shown);
    if (to) this.app.showAt(to); else setText(this.hint, by > 0 ? "no later incident" : "no earlier incident");
  }

  private comparing() {
    if (this.app.state.compare) { this.app.compareWith(""); return; }
    const t = this.shown();
    if (t) this.app.compareWith(t);
  }
}
