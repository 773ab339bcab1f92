// The live heatmap: paints the links of a layout with an interval's values and
// outlines the regions.
import { stallColor, severityColor } from "./color.js";

export class Heatmap {
  constructor(canvas, onHover) {
    this.canvas = canvas;
    this.onHover = onHover;
    this.context = canvas.getContext("2d");
    this.regionOf = new Map();
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("mousemove", (e) => onHover(this.linkAt(e.offsetX, e.offsetY), e));
    canvas.addEventListener("mouseleave", (e) => onHover(null, e));
  }

  show(layout, values, regions, focused) {
    Object.assign(this, { layout, values, focused });
    this.regionOf = new Map();
    for (const r of regions) for (const l of r.links) this.regionOf.set(l, r);
    this.draw();
  }

  clear() {
    this.layout = null;
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  scale() {
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    const s = Math.min(w / this.layout.width, h / this.layout.height);
    return { s, ox: (w - s * this.layout.width) / 2, oy: (h - s * this.layout.height) / 2 };
  }

  draw() {
    if (!this.layout) return;
    const { canvas, context: c } = this, ratio = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const { s, ox, oy } = this.scale();
    c.fillStyle = "#8fa1b3";
    c.font = `${Math.max(9, Math.min(13, s * .6))}px system-ui, sans-serif`;
    for (const t of this.layout.titles) c.fillText(t.text, ox + t.x * s, oy + t.y * s);
    this.label(s, ox, oy);
    const rim = Math.max(1, s * .07);
    for (const r of this.layout.rects) {
      const region = this.regionOf.get(r.id);
      const x = ox + r.x * s, y = oy + r.y * s, w = r.w * s, h = r.h * s;
      if (region) {
        c.fillStyle = severityColor[region.severity];
        c.globalAlpha = this.focused && this.focused !== region.id ? .25 : 1;
        c.fillRect(x - rim, y - rim, w + 2 * rim, h + 2 * rim);
        c.globalAlpha = 1;
      }
      c.fillStyle = stallColor(this.values[r.id]);
      c.fillRect(x, y, w, h);
    }
  }

  // label names the rows where there is room for letters; what is written is the
  // canvas's text for those who cannot see it.
  label(s, ox, oy) {
    const c = this.context, size = Math.min(12, s * .85), room = this.layout.gutter * s - 6, written = [];
    if (size >= 6.5) {
      c.font = `${size}px system-ui, sans-serif`;
      c.textAlign = "right";
      for (const l of this.layout.labels) {
        let text = l.text;
        while (text.length > 2 && c.measureText(text).width > room) text = text.slice(0, -2) + "\u2026";
        c.fillText(text, ox + l.x * s - 6, oy + (l.y + .4) * s + size * .35);
        written.push(l.text);
      }
      c.textAlign = "left";
    }
    this.canvas.textContent = [...this.layout.titles.map((t) => t.text), ...written].filter(Boolean).join(", ");
  }

  linkAt(px, py) {
    if (!this.layout) return null;
    const { s, ox, oy } = this.scale(), x = (px - ox) / s, y = (py - oy) / s;
    let best = null, bestDistance = .35;
    for (const r of this.layout.rects) {
      const dx = Math.max(r.x - x, 0, x - r.x - r.w), dy = Math.max(r.y - y, 0, y - r.y - r.h);
      if (dx + dy < bestDistance) { bestDistance = dx + dy; best = r.id; }
    }
    return best;
  }
}
