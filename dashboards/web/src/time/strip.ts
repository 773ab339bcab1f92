// The time strip: the state of the network over the stored past, the number of regions of
// each severity (or the share of time in each, where a slot is a step of many intervals),
// and what happened; a place on it is an instant that the page shows.
import { colours, rank } from "../colour.ts";
import { clock, date, iso } from "../format.ts";
import type { FabricEvent, Severity } from "../types.ts";
import { instants, isFailure, label, longest, type History, type Slot } from "./past.ts";

type Mark = "failure" | "silence" | "protection" | "job" | "story";
/** markOf is the sign of an event on the strip: the kinds that an operator jumps to. */
const markOf = (e: FabricEvent): Mark | null => isFailure(e.kind) ? "failure" : e.kind.endsWith("_silent") ? "silence" : e.kind === "congestion_protection" ? "protection" : e.kind === "job_started" || e.kind === "job_ended" ? "job" : e.kind === "story" ? "story" : null;

const snap = 5; // pixels around the begin of congestion or a failure that mean it, where a slot is many intervals

/** Doing is what the strip asks for: an instant (or another to compare with), and another window. */
interface Doing { pick: (time: string, other: boolean) => void; zoom: (from: number, to: number) => void }

export class Strip {
  private history: History = { from: 0, to: 1, stepSeconds: 0, slots: [], events: [], congestion: [] };
  private shown = "";
  private compared = "";
  private first = 0; // of the window that is drawn
  private last = 1;
  private step = 1000;
  private dragging = false;
  private zooming: ReturnType<typeof setTimeout> | null = null;
  hover: ((text: string) => void) | null = null;

  constructor(private readonly host: HTMLElement, private readonly canvas: HTMLCanvasElement, private readonly doing: Doing) {
    new ResizeObserver(() => this.draw()).observe(host);
    host.addEventListener("pointerdown", (e) => { this.dragging = true; host.setPointerCapture(e.pointerId); this.pick(e); });
    host.addEventListener("pointermove", (e) => { if (this.dragging) this.pick(e); else this.say(e); });
    for (const end of ["pointerup", "pointercancel"]) host.addEventListener(end, () => { this.dragging = false; });
    host.addEventListener("pointerleave", () => this.hover?.(""));
    host.addEventListener("keydown", (e) => this.keyed(e));
    host.addEventListener("wheel", (e) => { e.preventDefault(); this.wheel(e); }, { passive: false });
  }

  show(history: History, intervalSeconds: number, shown: string, compared: string) {
    Object.assign(this, { history, shown, compared, step: 1000 * (history.stepSeconds || intervalSeconds) });
    if (!this.zooming) { this.first = history.from; this.last = Math.max(history.from + 1, history.to); }
    this.draw();
    const s = history.slots, at = this.indexOf(shown), slot = s[at];
    this.host.setAttribute("aria-valuemax", String(Math.max(0, s.length - 1)));
    this.host.setAttribute("aria-valuenow", String(Math.max(0, at)));
    this.host.setAttribute("aria-valuetext", slot ? this.textOf(slot) : "nothing stored");
  }

  private textOf(s: Slot) { const t = iso(s.from); return `${date(t)} ${clock(t)} UTC, ${s.text}`; }

  /** times are the instants of the slots, in order. */
  get times() { return this.history.slots.map((s) => iso(s.from)); }

  /** indexOf is the slot of an instant or the last before; -1 if there is none. */
  indexOf(time: string): number {
    const t = Date.parse(time);
    return this.history.slots.findLastIndex((s) => s.from <= t);
  }

  private x(t: number) { return (t - this.first) / Math.max(1, this.last - this.first) * this.host.clientWidth; }
  private t(e: MouseEvent) { const b = this.host.getBoundingClientRect(); return this.first + (e.clientX - b.left) / Math.max(1, b.width) * (this.last - this.first); }
  private slotAt(e: MouseEvent): Slot | undefined { const s = this.history.slots; return s[Math.max(0, s.findLastIndex((v) => v.from <= this.t(e)))]; }

  /** pick means a slot, or, in a slot of many intervals, the instant under the mouse or an incident that is as good as there. */
  private pick(e: PointerEvent) {
    const slot = this.slotAt(e);
    if (!slot) return;
    let time = iso(slot.from);
    if (this.history.stepSeconds) {
      const t = Math.max(slot.from, Math.min(this.t(e), slot.to - 1)), reach = snap * (this.last - this.first) / Math.max(1, this.host.clientWidth);
      const begins = [...this.history.congestion.map((c) => c.begin), ...this.history.events.filter((v) => isFailure(v.kind)).map((v) => v.time)].filter((v) => Math.abs(Date.parse(v) - t) <= reach);
      time = begins.sort((a, b) => Math.abs(Date.parse(a) - t) - Math.abs(Date.parse(b) - t))[0] ?? iso(Math.floor(t / 1000) * 1000);
    }
    if (time !== (e.shiftKey ? this.compared : this.shown)) this.doing.pick(time, e.shiftKey);
  }

  private say(e: PointerEvent) {
    const s = this.slotAt(e);
    if (!s || !this.hover) return;
    const reach = Math.max(this.step, (this.last - this.first) / Math.max(1, this.host.clientWidth) * snap), t = this.history.stepSeconds ? this.t(e) : s.from;
    const near = this.history.events.filter((v) => markOf(v) && Math.abs(Date.parse(v.time) - t) <= reach).slice(0, 2).map((v) => v.detail || v.kind.replaceAll("_", " "));
    this.hover([this.textOf(s), ...near].join(" \u00b7 "));
  }

  private keyed(e: KeyboardEvent) {
    const times = this.times, at = Math.max(0, this.indexOf(this.shown)), to: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: times.length - 1 };
    if (e.key === "+" || e.key === "-") { this.zoom(e.key === "+" ? .5 : 2); return; }
    if (!(e.key in to) || times.length === 0) return;
    e.preventDefault();
    this.doing.pick(times[Math.max(0, Math.min(times.length - 1, to[e.key]))], false);
  }

  private wheel(e: WheelEvent) {
    const sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY), by = e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX;
    if (sideways) this.pan(by / Math.max(1, this.host.clientWidth)); else this.zoom(Math.exp(Math.max(-.7, Math.min(.7, e.deltaY / 300))), this.t(e));
  }

  /** zoom makes the window so many times as long, around an instant; without one around the cursor, or else its end. */
  zoom(by: number, around?: number) {
    const shown = Date.parse(this.shown), t = around ?? (shown >= this.first && shown < this.last ? shown : this.last), length = this.last - this.first;
    const wanted = Math.max(10 * this.step / (this.history.stepSeconds ? 10 : 1), Math.min(longest * 1000, length * by)), from = t - (t - this.first) * wanted / length;
    this.move(from, from + wanted);
  }

  /** pan shifts the window by a part of its length. */
  pan(by: number) { const d = by * (this.last - this.first); this.move(this.first + d, this.last + d); }

  /** move draws another window at once with what is known, and asks for it when it rests. */
  private move(from: number, to: number) {
    this.first = from;
    this.last = to;
    this.draw();
    if (this.zooming) clearTimeout(this.zooming);
    this.zooming = setTimeout(() => { this.zooming = null; this.doing.zoom(this.first, this.last); }, 180);
  }

  draw() {
    const { canvas } = this, ratio = devicePixelRatio || 1, w = this.host.clientWidth, hgt = this.host.clientHeight, c = canvas.getContext("2d");
    canvas.width = w * ratio;
    canvas.height = hgt * ratio;
    if (!c || !w) return;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.last - this.first <= 1) return;
    const marks = 13, band = 9, foot = 14, top = marks + 2, base = hgt - foot - band - 3;
    this.bars(c, base, base - top);
    this.band(c, hgt - foot - band, band);
    this.events(c, marks);
    this.axis(c, w, hgt);
    this.cursor(c, this.compared, hgt - foot, colours().severity.Low, "compared");
    this.cursor(c, this.shown, hgt - foot, colours().ink, "");
  }

  /** bars are the regions or the time of each severity, one upon the other, the worst at the bottom. */
  private bars(c: CanvasRenderingContext2D, base: number, tall: number) {
    const p = colours(), s = this.history.slots, gap = s.length < this.host.clientWidth / 4 ? 1 : 0, full = this.history.stepSeconds ? 1 : Math.max(3, ...s.map((v) => v.low + v.medium + v.high));
    for (const v of s) {
      const x = this.x(v.from), width = Math.max(1, this.x(v.to) - x - gap);
      let y = base;
      for (const [n, name] of [[v.high, "High"], [v.medium, "Medium"], [v.low, "Low"]] as const) {
        const d = n / full * tall;
        c.fillStyle = p.severity[name];
        c.fillRect(x, y - d, width, d);
        y -= d;
      }
    }
  }

  /** band is the state of the network; where several slots share a pixel, the worst of them, and where none is known it is hatched. */
  private band(c: CanvasRenderingContext2D, y: number, tall: number) {
    const p = colours(), worth = (s: Slot) => s.state === "Unknown" ? -1 : rank(s.state);
    c.fillStyle = p.edge;
    c.fillRect(0, y, this.host.clientWidth, tall);
    for (const v of [...this.history.slots].sort((a, b) => worth(a) - worth(b))) {
      const x = Math.round(this.x(v.from)), w = Math.max(1, Math.round(this.x(v.to)) - x); // whole pixels, so that none is of two slots
      if (v.state === "Unknown") {
        c.fillStyle = p.unknown;
        for (let k = 0; k < tall; k += 3) c.fillRect(x, y + k, w, 1.4);
        continue;
      }
      c.fillStyle = p.ground;
      c.fillRect(x, y, w, tall);
      c.fillStyle = p.severity[v.state as Severity];
      c.globalAlpha = v.state === "Neg" ? .45 : 1;
      c.fillRect(x, y, w, tall);
      c.globalAlpha = 1;
    }
  }

  /** events are marks by shape: a cross for failures, a ring for devices that stop reporting, a square for protection, a triangle for jobs, a dot for the story. */
  private events(c: CanvasRenderingContext2D, tall: number) {
    const p = colours(), y = tall / 2;
    for (const e of this.history.events) {
      const x = this.x(Date.parse(e.time)), kind = markOf(e);
      if (!kind || x < 0) continue;
      c.strokeStyle = c.fillStyle = kind === "failure" ? p.down : kind === "silence" ? p.ink : kind === "protection" ? p.severity.Medium : kind === "job" ? p.accent : p.faint;
      c.lineWidth = 2;
      c.beginPath();
      if (kind === "failure") { c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y + 4); c.moveTo(x + 4, y - 4); c.lineTo(x - 4, y + 4); c.stroke(); }
      else if (kind === "silence") { c.arc(x, y, 3.5, 0, 7); c.stroke(); }
      else if (kind === "protection") c.fillRect(x - 3, y - 3, 6, 6);
      else if (kind === "job") { const d = e.kind === "job_started" ? 1 : -1; c.moveTo(x - 3 * d, y - 4); c.lineTo(x + 4 * d, y); c.lineTo(x - 3 * d, y + 4); c.fill(); }
      else { c.arc(x, y, 2.5, 0, 7); c.fill(); }
    }
  }

  /** axis labels round instants of UTC, as many as there is room for. */
  private axis(c: CanvasRenderingContext2D, w: number, hgt: number) {
    c.fillStyle = colours().faint;
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "center";
    const { step, at } = instants(this.first, this.last, w / 100);
    for (const t of at) {
      const text = label(t, step, this.last - this.first), half = c.measureText(text).width / 2, x = this.x(t);
      c.fillRect(Math.round(x), hgt - 13, 1, 3);
      c.fillText(text, Math.max(half, Math.min(w - half, x)), hgt - 1);
    }
  }

  private cursor(c: CanvasRenderingContext2D, time: string, tall: number, colour: string, text: string) {
    const t = Date.parse(time), slot = this.history.slots[this.indexOf(time)];
    if (!time || !slot && !this.history.stepSeconds) return;
    const x = this.history.stepSeconds || !slot ? this.x(t) : (this.x(slot.from) + this.x(slot.to)) / 2;
    if (x < 0 || x > this.host.clientWidth + 2) return;
    c.strokeStyle = colours().ground;
    c.lineWidth = 4;
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x, tall);
    c.stroke();
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.stroke();
    if (text) { c.fillStyle = colour; c.font = "600 11px system-ui, sans-serif"; c.textAlign = x > 80 ? "right" : "left"; c.fillText(text, x + (x > 80 ? -5 : 5), 10); }
  }
}
