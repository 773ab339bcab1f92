// The flat view: draws a layout on a canvas, with zoom and shift. While it moves, the last
// picture is shifted and scaled; when it rests, it is drawn again, in slices, so that the
// page answers while 400,000 links are painted. Of so many the first picture has the hottest
// and an even share of the others; the whole one follows.
import { colours } from "../colour.ts";
import { order, type Frame, type MapView, type Pointing, type Selection } from "./frame.ts";
import type { FlatLayout } from "./layout.ts";
import { markRoots, markSelected } from "./mark.ts";
import { svgOf } from "./svg.ts";

const slice = 12; // ms of painting at a time
const margin = 14; // pixels around a drawing that fits
const restAfter = 90; // ms without a movement
const crowded = 60_000; // links from which on the first picture is a thinned one
const thinned = 12_000; // links of it
const tiny = 3; // pixels below which a device has no round corners and no edge

export class FlatView implements MapView {
  readonly element = document.createElement("div");
  private readonly shown = document.createElement("canvas");
  private sheet = document.createElement("canvas"); // the last whole picture
  private next = document.createElement("canvas"); // the one that is being drawn
  private frame: Frame | null = null;
  private sorted: Sorted | null = null;
  private view = { k: 1, x: 0, y: 0 }; // the zoom and shift on top of what fits
  private drawn = { k: 1, x: 0, y: 0 }; // those of the sheet
  private painting = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;
  private readonly watch = new ResizeObserver(() => this.resized());
  private readonly fingers = new Map<number, [number, number]>();
  private dragged = 0;

  constructor(private layout: FlatLayout, private readonly pointing: Pointing) {
    this.element.className = "flat";
    this.element.append(this.shown);
    this.shown.setAttribute("aria-hidden", "true");
    this.watch.observe(this.element);
    this.listen();
  }

  relayout(layout: FlatLayout) {
    this.layout = layout;
    this.sorted = null;
    if (this.frame) this.show(this.frame);
  }

  show(frame: Frame) {
    this.frame = frame;
    this.sorted = { rects: order(this.layout.rects.link, frame.scale.heat), lines: order(this.layout.lines.link, frame.scale.heat) };
    this.paint();
  }

  reset() { this.view = { k: 1, x: 0, y: 0 }; this.paint(); }
  zoom(factor: number) { this.zoomAt(factor, this.element.clientWidth / 2, this.element.clientHeight / 2); }
  canvas() { return this.shown; }
  svg() { return this.frame && svgOf(this.layout, this.frame); }

  destroy() {
    this.watch.disconnect();
    cancelAnimationFrame(this.painting);
    clearTimeout(this.resting);
    this.element.remove();
  }

  private resized() { if (this.frame) this.paint(); }

  /** fit is the scale and origin of the drawing on the element. */
  private fit(v = this.view) {
    const w = this.element.clientWidth, h = this.element.clientHeight, s = this.scale() * v.k;
    return { s, ox: (w - s * this.layout.width) / 2 + v.x, oy: (h - s * this.layout.height) / 2 + v.y };
  }

  /** scale is that at which the drawing fits, with a margin. */
  private scale() { return Math.max(.01, Math.min((this.element.clientWidth - 2 * margin) / this.layout.width, (this.element.clientHeight - 2 * margin) / this.layout.height)); }

  private zoomAt(factor: number, px: number, py: number) {
    const k = Math.max(.5, Math.min(60, this.view.k * factor)), before = this.fit(), f = k / this.view.k;
    const w = this.element.clientWidth, h = this.element.clientHeight, s = before.s * f;
    this.view = { k, x: px - (px - before.ox) * f - (w - s * this.layout.width) / 2, y: py - (py - before.oy) * f - (h - s * this.layout.height) / 2 };
    this.moved();
  }

  /** moved shows the old picture where it now belongs, and draws it again when it rests. */
  private moved() {
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => this.blit());
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.paint(), restAfter);
  }

  private blit() {
    const c = this.shown.getContext("2d")!, ratio = devicePixelRatio || 1, now = this.fit(), then = this.fit(this.drawn), f = now.s / then.s;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = colours().ground;
    c.fillRect(0, 0, this.shown.width, this.shown.height);
    c.setTransform(f, 0, 0, f, (now.ox - then.ox * f) * ratio, (now.oy - then.oy * f) * ratio);
    c.drawImage(this.sheet, 0, 0);
    c.setTransform(1, 0, 0, 1, 0, 0);
  }

  /** paint draws the sheet in slices and then shows it. */
  private paint() {
    cancelAnimationFrame(this.painting);
    clearTimeout(this.resting);
    const w = this.element.clientWidth, h = this.element.clientHeight, ratio = devicePixelRatio || 1;
    if (!this.frame || !this.sorted || w === 0 || h === 0) return;
    const { sorted } = this, begins = !this.element.dataset.painted && sorted.rects.length + sorted.lines.length > crowded;
    const pictures = begins ? [{ rects: thin(sorted.rects), lines: thin(sorted.lines) }, sorted] : [sorted];
    let steps = this.steps(w, h, ratio, pictures.shift()!);
    const run = () => {
      const began = performance.now();
      while (performance.now() - began < slice) {
        if (!steps.next().done) continue;
        this.finish(w, h, ratio);
        const more = pictures.shift();
        if (!more) return;
        steps = this.steps(w, h, ratio, more);
      }
      this.painting = requestAnimationFrame(run);
    };
    run();
  }

  private finish(w: number, h: number, ratio: number) {
    [this.sheet, this.next] = [this.next, this.sheet];
    this.drawn = { ...this.view };
    if (this.shown.width !== w * ratio || this.shown.height !== h * ratio) { this.shown.width = w * ratio; this.shown.height = h * ratio; }
    const c = this.shown.getContext("2d")!;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(this.sheet, 0, 0);
    this.element.dataset.painted = String(Number(this.element.dataset.painted ?? 0) + 1);
  }

  private *steps(w: number, h: number, ratio: number, sorted: Sorted): Generator<void> {
    const sheet = this.next, frame = this.frame!, p = colours(), { s, ox, oy } = this.fit();
    sheet.width = w * ratio;
    sheet.height = h * ratio;
    const c = sheet.getContext("2d", { alpha: false })!;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = p.ground;
    c.fillRect(0, 0, w, h);
    this.frames(c, s, ox, oy);
    const region = this.regionOf(frame);
    const inside = (x: number, y: number, x2: number, y2: number) => Math.max(x, x2) >= -4 && Math.max(y, y2) >= -4 && Math.min(x, x2) <= w + 4 && Math.min(y, y2) <= h + 4;
    yield* this.rects(c, frame, sorted.rects, region, s, ox, oy, inside);
    yield* this.lines(c, frame, sorted.lines, region, s, ox, oy, inside);
    yield* this.nodes(c, frame, s, ox, oy, inside);
    this.frameNames(c, s, ox, oy);
    this.marks(c, frame, s, ox, oy, w);
    this.labels(c, s, ox, oy, w, h);
  }

  private regionOf(frame: Frame) {
    const of = new Map<number, { colour: string; dim: boolean }>();
    for (const r of frame.regions) {
      const entry = { colour: colours().severity[r.severity], dim: frame.focus !== null && r.id !== frame.focus };
      for (const l of r.links) of.set(l, entry);
    }
    return of;
  }

  private frames(c: CanvasRenderingContext2D, s: number, ox: number, oy: number) {
    const p = colours();
    c.lineWidth = 1;
    for (const f of this.layout.frames) {
      c.fillStyle = p.panel;
      c.strokeStyle = p.edge;
      c.beginPath();
      c.roundRect(ox + f.x * s, oy + f.y * s, f.w * s, f.h * s, Math.min(8, f.w * s * .1));
      c.fill();
      c.stroke();
    }
  }

  /** frameNames writes over the links, on a rim of the frames' ground, what the frames are called. */
  private frameNames(c: CanvasRenderingContext2D, s: number, ox: number, oy: number) {
    const p = colours();
    for (const f of this.layout.frames) {
      if (!f.text) continue;
      const size = Math.max(9, Math.min(13, f.w * s * .14)), margin = Math.min(6, f.w * s * .15);
      c.font = `${size}px system-ui, sans-serif`;
      // Of many narrow frames the number alone is written: half a name would be that of another, as pod 2 of pod 21.
      const text = [f.text, f.text.slice(f.text.lastIndexOf(" ") + 1)].find((t) => c.measureText(t).width <= f.w * s - 2 * margin);
      if (!text) continue;
      c.fillStyle = p.faint;
      c.textAlign = "left";
      c.strokeStyle = f.above ? p.ground : p.panel;
      c.lineWidth = 3;
      const at = [ox + f.x * s + margin, oy + (f.low ? (f.y + f.h) * s - 6 : f.y * s + (f.above ? -5 : size + 4))] as const;
      c.strokeText(text, ...at);
      c.fillText(text, ...at);
    }
  }

  private *rects(c: CanvasRenderingContext2D, frame: Frame, sorted: Uint32Array, region: ReturnType<FlatView["regionOf"]>, s: number, ox: number, oy: number, inside: Inside): Generator<void> {
    const { link, geo } = this.layout.rects, rim = Math.max(1, Math.min(3, s * .08));
    for (let k = 0; k < sorted.length; k++) {
      if (k % 2000 === 1999) yield;
      const i = sorted[k], x = ox + geo[4 * i] * s, y = oy + geo[4 * i + 1] * s, rw = geo[4 * i + 2] * s, rh = geo[4 * i + 3] * s;
      if (!inside(x, y, x + rw, y + rh)) continue;
      const r = region.get(link[i]);
      if (r) {
        c.globalAlpha = r.dim ? .3 : 1;
        c.fillStyle = r.colour;
        c.fillRect(x - rim, y - rim, rw + 2 * rim, rh + 2 * rim);
        c.globalAlpha = 1;
      }
      c.fillStyle = frame.scale.css[frame.scale.index[link[i]]];
      c.fillRect(x, y, Math.max(.7, rw), Math.max(.7, rh));
    }
  }

  private *lines(c: CanvasRenderingContext2D, frame: Frame, sorted: Uint32Array, region: ReturnType<FlatView["regionOf"]>, s: number, ox: number, oy: number, inside: Inside): Generator<void> {
    const { link, geo } = this.layout.lines, n = sorted.length, crowd = Math.max(.35, Math.min(1, 3000 / Math.max(1, n)));
    c.lineCap = "butt";
    const xs = (i: number) => [ox + geo[4 * i] * s, oy + geo[4 * i + 1] * s, ox + geo[4 * i + 2] * s, oy + geo[4 * i + 3] * s] as const;
    for (let k = 0; k < n; k++) { // severity below, so that a region is outlined
      const r = region.get(link[sorted[k]]);
      if (!r) continue;
      const [x1, y1, x2, y2] = xs(sorted[k]);
      if (!inside(x1, y1, x2, y2)) continue;
      c.globalAlpha = r.dim ? .12 : .4;
      c.strokeStyle = r.colour;
      c.lineWidth = 6 * Math.sqrt(crowd);
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
      c.stroke();
      if (k % 1000 === 999) yield;
    }
    let current = -1;
    for (let k = 0; k < n; k++) {
      if (k % 1500 === 1499) { c.stroke(); current = -1; yield; }
      const i = sorted[k], index = frame.scale.index[link[i]], [x1, y1, x2, y2] = xs(i);
      if (!inside(x1, y1, x2, y2)) continue;
      if (index !== current) {
        if (current >= 0) c.stroke();
        const heat = frame.scale.heat[link[i]] / 255, up = frame.graph.links.up[link[i]];
        c.beginPath();
        c.strokeStyle = frame.scale.css[index];
        c.globalAlpha = up ? Math.min(1, (n < 300 ? 1 : .55) * crowd + .5 * Math.sqrt(heat) + (heat > .08 ? .35 : 0)) : .3;
        c.lineWidth = Math.max(.6, ((n < 300 ? 1.6 : 1) + 2.6 * heat) * Math.sqrt(crowd));
        current = index;
      }
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
    }
    if (current >= 0) c.stroke();
    c.globalAlpha = 1;
  }

  private *nodes(c: CanvasRenderingContext2D, frame: Frame, s: number, ox: number, oy: number, inside: Inside): Generator<void> {
    const { device, geo } = this.layout.nodes, p = colours(), over = this.layout.rects.link.length > 0;
    let filled = "";
    for (let i = 0; i < device.length; i++) {
      if (i % 2000 === 1999) yield;
      const job = frame.jobs.get(device[i]);
      if (over && !job) continue; // where links are rectangles, a switch is the place between them
      const x = ox + geo[4 * i] * s, y = oy + geo[4 * i + 1] * s, w = geo[4 * i + 2] * s, h = geo[4 * i + 3] * s;
      if (!inside(x, y, x + w, y + h)) continue;
      if (over) {
        c.strokeStyle = job!;
        c.lineWidth = Math.max(1, s * .06);
        c.strokeRect(x - s * .04, y - s * .04, s * .96, s * .96);
        continue;
      }
      const fill = job ?? (frame.graph.isSwitch(device[i]) ? p.edge : p.severity.Neg);
      if (fill !== filled) c.fillStyle = filled = fill;
      if (w < tiny && h < tiny) { c.fillRect(x, y, Math.max(.5, w), Math.max(.5, h)); continue; }
      c.strokeStyle = p.faint;
      c.lineWidth = .7;
      c.beginPath();
      c.roundRect(x, y, w, h, Math.min(3, h / 3));
      c.fill();
      if (frame.graph.isSwitch(device[i])) c.stroke();
    }
  }

  /** marks draws what is selected and where back pressure begins. */
  private marks(c: CanvasRenderingContext2D, frame: Frame, s: number, ox: number, oy: number, w: number) {
    const place = (what: NonNullable<Selection>): [number, number] | null => { const m = this.middleOf(what); return m && [ox + m[0] * s, oy + m[1] * s]; };
    markRoots(c, frame.roots.map((r) => place({ link: r.link }) ?? place({ device: r.device })).filter((at) => at !== null));
    const at = frame.selected && place(frame.selected);
    if (at) markSelected(c, at, w, frame.graph, frame.selected!);
  }

  /** middleOf is where a link or device is in the layout. */
  private middleOf(what: NonNullable<Selection>): [number, number] | null {
    const { lines, rects, nodes } = this.layout;
    if ("device" in what) {
      const i = nodes.device.indexOf(what.device), g = nodes.geo;
      return i < 0 ? null : [g[4 * i] + g[4 * i + 2] / 2, g[4 * i + 1] + g[4 * i + 3] / 2];
    }
    for (const [items, line] of [[lines, true], [rects, false]] as const) {
      const i = items.link.indexOf(what.link);
      if (i < 0) continue;
      const [a, b, d, e] = items.geo.subarray(4 * i, 4 * i + 4);
      return line ? [(a + d) / 2, (b + e) / 2] : [a + d / 2, b + e / 2];
    }
    return null;
  }

  private labels(c: CanvasRenderingContext2D, s: number, ox: number, oy: number, w: number, h: number) {
    c.fillStyle = colours().ink;
    const written: string[] = [];
    for (const l of this.layout.labels) {
      const size = Math.max(l.least ?? 0, Math.min(14, l.size * s));
      if (size < 6.5) continue;
      const x = ox + l.x * s, y = oy + l.y * s, room = l.room * s - 2;
      if (x < -200 || y < -20 || x > w + 200 || y > h + 20 || room < size * .5) continue; // not even one letter
      c.font = `${size}px system-ui, sans-serif`;
      c.textAlign = l.align;
      const forms = [l.text, ...l.short ?? []];
      let text = forms.find((f) => c.measureText(f).width <= room) ?? forms[forms.length - 1];
      while (text.length > 2 && c.measureText(text).width > room) text = text.slice(0, -2) + "\u2026";
      if (text.endsWith("\u2026") && text.length <= 2) continue;
      c.fillText(text, x, y);
      written.push(l.text);
    }
    const frames = this.layout.frames.map((f) => f.text).filter(Boolean);
    this.shown.textContent = [this.layout.summary, ...frames, ...written].join(", ");
  }

  /** at is the device or link under a point of the element. */
  at(px: number, py: number): Selection {
    const { s, ox, oy } = this.fit(), x = (px - ox) / s, y = (py - oy) / s, l = this.layout, near = 6 / s;
    if (l.rects.link.length > 0) {
      let best = -1, far = .3;
      for (let i = 0; i < l.rects.link.length; i++) {
        const g = l.rects.geo, dx = Math.max(g[4 * i] - x, 0, x - g[4 * i] - g[4 * i + 2]), dy = Math.max(g[4 * i + 1] - y, 0, y - g[4 * i + 1] - g[4 * i + 3]);
        if (dx + dy < far) { far = dx + dy; best = i; }
      }
      return best < 0 ? null : { link: l.rects.link[best] };
    }
    const g = l.nodes.geo;
    for (let i = 0; i < l.nodes.device.length; i++) {
      if (x >= g[4 * i] - near / 3 && x <= g[4 * i] + g[4 * i + 2] + near / 3 && y >= g[4 * i + 1] - near / 3 && y <= g[4 * i + 1] + g[4 * i + 3] + near / 3) return { device: l.nodes.device[i] };
    }
    return this.lineAt(x, y, near);
  }

  private lineAt(x: number, y: number, near: number): Selection {
    const { link, geo } = this.layout.lines, heat = this.frame?.scale.heat;
    let best = -1, score = Infinity;
    for (let i = 0; i < link.length; i++) {
      const x1 = geo[4 * i], y1 = geo[4 * i + 1], dx = geo[4 * i + 2] - x1, dy = geo[4 * i + 3] - y1;
      const t = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1))), far = Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
      if (far > near) continue;
      const own = far / near - (heat ? heat[link[i]] / 255 * .5 : 0); // of two lines the hotter
      if (own < score) { score = own; best = i; }
    }
    return best < 0 ? null : { link: link[best] };
  }

  private listen() {
    const e = this.element, at = (ev: PointerEvent | WheelEvent): [number, number] => { const b = e.getBoundingClientRect(); return [ev.clientX - b.left, ev.clientY - b.top]; };
    e.addEventListener("wheel", (ev) => { ev.preventDefault(); this.zoomAt(Math.exp(-ev.deltaY * .0015), ...at(ev)); }, { passive: false });
    e.addEventListener("pointerdown", (ev) => { this.fingers.set(ev.pointerId, at(ev)); this.dragged = 0; e.setPointerCapture(ev.pointerId); });
    e.addEventListener("pointermove", (ev) => {
      const now = at(ev), before = this.fingers.get(ev.pointerId);
      if (!before) { this.pointing.over(this.at(...now), ...now); return; }
      if (this.fingers.size === 2) {
        const other = [...this.fingers].find(([id]) => id !== ev.pointerId)![1], length = (p: number[]) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.zoomAt(length(now) / Math.max(1, length(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else {
        this.view.x += now[0] - before[0];
        this.view.y += now[1] - before[1];
        if (this.dragged > 4) this.moved();
      }
      this.dragged += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      this.fingers.set(ev.pointerId, now);
    });
    const up = (ev: PointerEvent) => {
      if (this.fingers.delete(ev.pointerId) && ev.type === "pointerup" && this.dragged < 5) this.pointing.pick(this.at(...at(ev)));
    };
    e.addEventListener("pointerup", up);
    e.addEventListener("pointercancel", up);
    e.addEventListener("pointerleave", () => this.pointing.over(null, 0, 0));
  }

  /** shift moves the picture, for the keyboard. */
  shift(dx: number, dy: number) { this.view.x += dx; this.view.y += dy; this.moved(); }
}

/** Sorted are the places of links in a layout, the hottest last. */
interface Sorted { rects: Uint32Array; lines: Uint32Array }

/** thin chooses the hottest, and an even share of the others. */
function thin(sorted: Uint32Array): Uint32Array {
  const hot = Math.min(sorted.length, thinned / 2), cold = sorted.length - hot, step = Math.max(1, Math.ceil(cold / (thinned / 2)));
  return sorted.filter((_, k) => k >= cold || k % step === 0);
}

type Inside = (x: number, y: number, x2: number, y2: number) => boolean;
