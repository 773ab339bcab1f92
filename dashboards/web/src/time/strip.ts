// The time strip: the state of the network over the stored past, the number of regions of
// each severity, and what happened; a place on it is an instant that the page shows.
import { colours } from "../colour.ts";
import { clock, date } from "../format.ts";
import type { FabricEvent, History, Severity } from "../types.ts";

const failure = /^(link|switch|node)_(failed|errors|flapping)$/;
/** markOf is the sign of an event on the strip: the kinds that an operator jumps to. */
function markOf(e: FabricEvent): "failure" | "protection" | "job" | "story" | null {
  return failure.test(e.kind) ? "failure" : e.kind === "congestion_protection" ? "protection" : e.kind === "job_started" || e.kind === "job_ended" ? "job" : e.kind === "story" ? "story" : null;
}

export class Strip {
  private history: History = { states: [], events: [] };
  private shown = "";
  private compared = "";
  private first = 0;
  private last = 1;
  private step = 1000;
  private dragging = false;
  hover: ((text: string) => void) | null = null;

  constructor(private readonly host: HTMLElement, private readonly canvas: HTMLCanvasElement, private readonly onPick: (time: string, other: boolean) => void) {
    new ResizeObserver(() => this.draw()).observe(host);
    host.addEventListener("pointerdown", (e) => { this.dragging = true; host.setPointerCapture(e.pointerId); this.pick(e); });
    host.addEventListener("pointermove", (e) => { if (this.dragging) this.pick(e); else this.say(e); });
    for (const end of ["pointerup", "pointercancel"]) host.addEventListener(end, () => { this.dragging = false; });
    host.addEventListener("pointerleave", () => this.hover?.(""));
    host.addEventListener("keydown", (e) => this.keyed(e));
  }

  show(history: History, intervalSeconds: number, shown: string, compared: string) {
    Object.assign(this, { history, shown, compared, step: 1000 * intervalSeconds });
    const s = history.states;
    this.first = s.length ? Date.parse(s[0].time) : 0;
    this.last = s.length ? Date.parse(s[s.length - 1].time) + this.step : 1;
    this.draw();
    const at = this.indexOf(shown), state = s[at];
    this.host.setAttribute("aria-valuemax", String(Math.max(0, s.length - 1)));
    this.host.setAttribute("aria-valuenow", String(Math.max(0, at)));
    this.host.setAttribute("aria-valuetext", state ? `${date(state.time)} ${clock(state.time)} UTC, ${state.state === "Neg" ? "calm" : state.state}, ${state.low} Low, ${state.medium} Medium, ${state.high} High regions` : "nothing stored");
  }

  /** times are the stored instants, in order. */
  get times() { return this.history.states.map((s) => s.time); }

  /** indexOf is the stored interval at a time or the last before; -1 if there is none. */
  indexOf(time: string): number {
    const t = Date.parse(time), s = this.history.states;
    let i = s.length - 1;
    while (i >= 0 && Date.parse(s[i].time) > t) i--;
    return i;
  }

  private x(t: number) { return (t - this.first) / Math.max(1, this.last - this.first) * this.host.clientWidth; }

  private nearest(e: PointerEvent): number {
    const b = this.host.getBoundingClientRect(), t = this.first + (e.clientX - b.left) / Math.max(1, b.width) * (this.last - this.first);
    return Math.max(0, this.indexOf(new Date(Math.max(this.first, t)).toISOString()));
  }

  private pick(e: PointerEvent) {
    const s = this.history.states[this.nearest(e)];
    if (s && s.time !== (e.shiftKey ? this.compared : this.shown)) this.onPick(s.time, e.shiftKey);
  }

  private say(e: PointerEvent) {
    const s = this.history.states[this.nearest(e)];
    if (!s || !this.hover) return;
    const t = Date.parse(s.time), reach = Math.max(this.step, (this.last - this.first) / Math.max(1, this.host.clientWidth) * 5);
    const near = this.history.events.filter((v) => markOf(v) && Math.abs(Date.parse(v.time) - t) <= reach).slice(0, 2).map((v) => v.detail || v.kind.replaceAll("_", " "));
    this.hover([`${clock(s.time)} UTC: ${s.state === "Neg" ? "calm" : s.state}, ${s.low} Low, ${s.medium} Medium, ${s.high} High`, ...near].join(" \u00b7 "));
  }

  private keyed(e: KeyboardEvent) {
    const s = this.history.states, at = Math.max(0, this.indexOf(this.shown)), to: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: s.length - 1 };
    if (!(e.key in to) || s.length === 0) return;
    e.preventDefault();
    this.onPick(s[Math.max(0, Math.min(s.length - 1, to[e.key]))].time, false);
  }

  draw() {
    const { canvas } = this, ratio = devicePixelRatio || 1, w = this.host.clientWidth, hgt = this.host.clientHeight, c = canvas.getContext("2d");
    canvas.width = w * ratio;
    canvas.height = hgt * ratio;
    if (!c || !w) return;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const s = this.history.states;
    if (s.length === 0) return;
    const marks = 13, band = 9, foot = 14, top = marks + 2, base = hgt - foot - band - 3;
    this.bars(c, base, base - top);
    this.band(c, hgt - foot - band, band);
    this.events(c, marks);
    this.axis(c, w, hgt);
    this.cursor(c, this.compared, hgt - foot, colours().severity.Low, "compared");
    this.cursor(c, this.shown, hgt - foot, colours().ink, "");
  }

  /** bars are the regions of each severity, one upon the other, the worst at the bottom; where several intervals share a pixel, the worst of them. */
  private bars(c: CanvasRenderingContext2D, base: number, tall: number) {
    const p = colours(), s = this.history.states, width = Math.max(1, this.x(this.first + this.step) - (s.length < this.host.clientWidth / 4 ? 1 : 0));
    const most = Math.max(3, ...s.map((v) => v.low + v.medium + v.high));
    for (const v of s) {
      let y = base;
      for (const [n, name] of [[v.high, "High"], [v.medium, "Medium"], [v.low, "Low"]] as const) {
        const d = n / most * tall;
        c.fillStyle = p.severity[name];
        c.fillRect(this.x(Date.parse(v.time)), y - d, width, d);
        y -= d;
      }
    }
  }

  /** band is the state of the network; where it is not known, it is hatched. */
  private band(c: CanvasRenderingContext2D, y: number, tall: number) {
    const p = colours();
    c.fillStyle = p.edge;
    c.fillRect(0, y, this.host.clientWidth, tall);
    for (const v of this.history.states) {
      const x = this.x(Date.parse(v.time)), w = Math.max(1, this.x(Date.parse(v.time) + this.step) - x);
      if (v.state === "Unknown" || v.unknown) {
        c.fillStyle = p.unknown;
        for (let k = 0; k < tall; k += 3) c.fillRect(x, y + k, w, 1.4);
        continue;
      }
      c.fillStyle = p.severity[v.state as Severity];
      c.globalAlpha = v.state === "Neg" ? .45 : 1;
      c.fillRect(x, y, w + .3, tall);
      c.globalAlpha = 1;
    }
  }

  /** events are marks by shape: a cross for failures, a square for protection, a triangle for jobs, a dot for the story. */
  private events(c: CanvasRenderingContext2D, tall: number) {
    const p = colours(), y = tall / 2;
    for (const e of this.history.events) {
      const x = this.x(Date.parse(e.time)), kind = markOf(e);
      if (!kind || x < 0) continue;
      c.strokeStyle = c.fillStyle = kind === "failure" ? p.down : kind === "protection" ? p.severity.Medium : kind === "job" ? p.accent : p.faint;
      c.lineWidth = 2;
      c.beginPath();
      if (kind === "failure") { c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y + 4); c.moveTo(x + 4, y - 4); c.lineTo(x - 4, y + 4); c.stroke(); }
      else if (kind === "protection") c.fillRect(x - 3, y - 3, 6, 6);
      else if (kind === "job") { const d = e.kind === "job_started" ? 1 : -1; c.moveTo(x - 3 * d, y - 4); c.lineTo(x + 4 * d, y); c.lineTo(x - 3 * d, y + 4); c.fill(); }
      else { c.arc(x, y, 2.5, 0, 7); c.fill(); }
    }
  }

  private axis(c: CanvasRenderingContext2D, w: number, hgt: number) {
    c.fillStyle = colours().faint;
    c.font = "11px system-ui, sans-serif";
    const text = (t: number) => { const i = new Date(t).toISOString(); return this.last - this.first > 86_400_000 ? i.slice(5, 16).replace("T", " ") : clock(i); };
    const n = Math.max(1, Math.min(8, Math.floor(w / 130)));
    for (let k = 0; k <= n; k++) {
      const t = this.first + (this.last - this.first) * k / n;
      c.textAlign = k === 0 ? "left" : k === n ? "right" : "center";
      c.fillText(text(t), w * k / n, hgt - 2);
    }
  }

  private cursor(c: CanvasRenderingContext2D, time: string, tall: number, colour: string, text: string) {
    const at = time ? this.indexOf(time) : -1;
    if (at < 0) return;
    const x = (this.x(Date.parse(this.history.states[at].time)) + this.x(Date.parse(this.history.states[at].time) + this.step)) / 2;
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
