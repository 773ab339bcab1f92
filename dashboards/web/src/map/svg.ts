// A flat drawing as SVG.
import { colours } from "../colour.ts";
import type { Frame } from "./frame.ts";
import type { FlatLayout } from "./layout.ts";

const escape = (t: string) => t.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const f = (v: number) => v.toFixed(2);

export function svgOf(l: FlatLayout, frame: Frame): string {
  const p = colours(), scale = 1200 / l.width, out: string[] = [], colour = (id: number) => frame.scale.css[frame.scale.index[id]];
  const severity = new Map<number, string>();
  for (const r of frame.regions) for (const id of r.links) severity.set(id, p.severity[r.severity]);
  for (const b of l.frames) out.push(`<rect x="${f(b.x)}" y="${f(b.y)}" width="${f(b.w)}" height="${f(b.h)}" fill="${p.panel}" stroke="${p.edge}" stroke-width=".1"/>`);
  for (let i = 0; i < l.rects.link.length; i++) {
    const [x, y, w, h] = l.rects.geo.subarray(4 * i, 4 * i + 4), edge = severity.get(l.rects.link[i]);
    out.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(w)}" height="${f(h)}" fill="${colour(l.rects.link[i])}"${edge ? ` stroke="${edge}" stroke-width=".08"` : ""}/>`);
  }
  for (let i = 0; i < l.lines.link.length; i++) {
    const [x, y, x2, y2] = l.lines.geo.subarray(4 * i, 4 * i + 4), id = l.lines.link[i];
    out.push(`<line x1="${f(x)}" y1="${f(y)}" x2="${f(x2)}" y2="${f(y2)}" stroke="${colour(id)}" stroke-width="${f((1 + 2.6 * frame.scale.heat[id] / 255) / scale)}"/>`);
  }
  if (l.rects.link.length === 0) {
    for (let i = 0; i < l.nodes.device.length; i++) {
      const [x, y, w, h] = l.nodes.geo.subarray(4 * i, 4 * i + 4);
      out.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(w)}" height="${f(h)}" fill="${frame.jobs.get(l.nodes.device[i]) ?? p.edge}"/>`);
    }
  }
  const anchor: Record<string, string> = { left: "start", right: "end", center: "middle" };
  for (const t of l.labels) {
    const fits = t.text.length * t.size * .55 > t.room ? ` textLength="${f(t.room)}" lengthAdjust="spacingAndGlyphs"` : "";
    out.push(`<text x="${f(t.x)}" y="${f(t.y)}" font-size="${f(t.size)}" text-anchor="${anchor[t.align]}" fill="${p.ink}"${fits}>${escape(t.text)}</text>`);
  }
  for (const b of l.frames) if (b.text) out.push(`<text x="${f(b.x + .4)}" y="${f(b.y + 1.2)}" font-size="1" fill="${p.faint}">${escape(b.text)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${f(l.width)} ${f(l.height)}" width="1200" height="${Math.round(l.height * scale)}" font-family="sans-serif">` +
    `<rect width="100%" height="100%" fill="${p.ground}"/>${out.join("")}</svg>`;
}
