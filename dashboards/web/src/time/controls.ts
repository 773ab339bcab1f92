// The controls of time: live, step, play, jump to an incident, compare, and how much of the past the strip shows.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { $, h, setText } from "../dom.ts";
import { clock, iso, span, when } from "../format.ts";
import { Strip } from "./strip.ts";

const perStep = 450; // ms that playing rests on an interval
const choices = [["", "latest"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 day"], ["604800", "1 week"], ["2592000", "30 days"], ["all", "all stored"]];

export class Controls {
  private readonly strip: Strip;
  private readonly hint = h("span", { class: "hint" });
  private readonly at = h("span", { class: "at" });
  private readonly play = this.button("Play", () => this.playing ? this.pause() : this.start(), "Play stored intervals");
  private readonly live = this.button("Live", () => this.app.live(), "Follow live data (L)");
  private readonly compare = this.button("Compare", () => this.comparing(), "Compare this instant with another one: then pick the other");
  private readonly spans: HTMLSelectElement;
  private playing: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly app: App) {
    this.strip = new Strip($("strip"), $<HTMLCanvasElement>("timeline"), {
      pick: (time, other) => { this.pause(); if (other) app.compareWith(time); else app.showAt(time); },
      zoom: (from, to) => this.window(from, to),
    });
    this.strip.hover = (text) => setText(this.hint, text || this.usual());
    this.spans = h("select", { attrs: { "aria-label": "Length of the timeline" }, on: { change: () => { app.go({ span: this.spans.value, until: "" }); void app.refresh(); } } }, ...choices.map(([v, t]) => new Option(t, v)));
    $("controls").append(this.live, this.button("\u25c0", () => void this.step(-1), "Previous interval"), this.play, this.button("\u25b6", () => void this.step(1), "Next interval"),
      this.button("\u21e4 Incident", () => void this.incident(-1), "Previous incident"), this.button("Incident \u21e5", () => void this.incident(1), "Next incident"), this.compare, this.spans,
      this.button("\u2039", () => this.strip.pan(-.5), "Earlier"), this.button("\u203a", () => this.strip.pan(.5), "Later"), this.button("+", () => this.strip.zoom(.5), "Zoom in on the timeline"),
      this.button("\u2212", () => this.strip.zoom(2), "Zoom out of the timeline"), this.at, this.hint);
  }

  private button(text: string, does: () => void, title: string) {
    return h("button", { title, attrs: { type: "button", ...(/[a-z]/i.test(text) ? {} : { "aria-label": title }) }, on: { click: does } }, text);
  }

  private usual() {
    const step = this.app.model?.past.history.stepSeconds;
    const other = this.app.state.compare;
    if (this.app.model && this.app.model.of !== this.app.state.at) return "loading";
    if (other) return other === this.shown() ? "choose another instant" : `compared with ${clock(other)}`;
    return step ? `share of time, by ${span(step)}` : "scroll: zoom";
  }

  private shown() { return this.app.model?.interval?.now.interval.start ?? ""; }

  /** wanted is the instant that was asked for, which is shown once it is loaded. */
  private wanted() { return this.app.state.at || this.shown(); }

  show() {
    const { app } = this, model = app.model!;
    this.strip.show(model.past.history, model.fabric.interval_seconds, this.wanted(), app.state.compare);
    this.live.setAttribute("aria-pressed", String(!app.state.at));
    this.compare.setAttribute("aria-pressed", String(app.state.compare !== ""));
    setText(this.play, this.playing ? "Pause" : "Play");
    const own = this.spans.options[choices.length];
    if (choices.some(([v]) => v === app.state.span)) own?.remove();
    else if (own) { own.value = app.state.span; setText(own, span(Number(app.state.span))); } else this.spans.add(new Option(span(Number(app.state.span)), app.state.span));
    this.spans.value = app.state.span;
    const t = this.shown();
    setText(this.at, t ? when(t) : "");
    if (!$("strip").matches(":hover")) setText(this.hint, this.usual());
  }

  /** window shows another part of the past; one that reaches the newest interval follows it. */
  private window(from: number, to: number) {
    const newest = this.app.model?.newest ?? 0, seconds = Math.max(1, Math.round((to - from) / 1000));
    this.app.go({ span: String(seconds), until: to >= newest ? "" : iso(Math.round(to / 1000) * 1000) });
    void this.app.refresh();
  }

  private async step(by: number) {
    this.pause();
    const model = this.app.model, now = model?.interval?.now.interval, times = this.strip.times, i = this.strip.indexOf(this.wanted()) + by;
    if (!model || !now) return;
    if (!model.past.history.stepSeconds && times[i]) { this.app.showAt(times[i]); return; }
    if (by < 0) this.app.showAt(iso(Date.parse(now.start) - 1));
    else await this.asked(model.past.after(now.end), "no later interval");
  }

  /** asked goes to an instant that the server is asked for. */
  private async asked(answer: Promise<string>, none: string) {
    try {
      const to = await answer;
      if (to) this.app.showAt(to); else setText(this.hint, none);
    } catch (e) { if (!isAbort(e)) setText(this.hint, (e as Error).message); }
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
    const from = this.app.state.at || this.shown(), past = this.app.model?.past;
    return past && from ? this.asked(past.incident(from, by), by > 0 ? "no later incident" : "no earlier incident") : undefined;
  }

  private comparing() {
    if (this.app.state.compare) { this.app.compareWith(""); return; }
    const t = this.shown();
    if (t) this.app.compareWith(t);
  }
}
