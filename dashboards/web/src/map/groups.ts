// A dragonfly: groups on a ring as wide as the picture, the routers of a group on a ring of their own with its
// local links, and the global links across.
import type { Graph } from "../graph.ts";
import { Builder, type FlatLayout } from "./layout.ts";

export function groups(graph: Graph, aspect: number): FlatLayout {
  const b = new Builder(), by = new Map<number, number[]>();
  graph.devices.forEach((d, i) => {
    if (d.kind !== "switch") return;
    const list = by.get(d.group);
    if (list) list.push(i); else by.set(d.group, [i]);
  });
  const ids = [...by.keys()].sort((a, z) => a - z), n = ids.length, most = Math.max(...[...by.values()].map((l) => l.length));
  const radius = Math.max(2.2, most * .42), pad = radius * 1.3, ring = ellipse(aspect, n), size = n === 1 ? 0 : Math.max(radius * 2.5 / ring.gap, radius * 2.1);
  const width = 2 * (size * ring.x + pad), height = 2 * (size * ring.y + pad);
  const at = new Map<number, [number, number]>();
  ids.forEach((g, i) => {
    const [x, y] = ring.at[i], turn = Math.atan2(y, x), cx = width / 2 + size * x, cy = height / 2 + size * y;
    const list = by.get(g)!;
    list.forEach((d, k) => {
      const a = turn + 2 * Math.PI * (k + .5) / list.length, r = list.length === 1 ? 0 : radius * .72;
      at.set(d, [cx + r * Math.cos(a), cy + r * Math.sin(a)]);
    });
    b.frames.push({ x: cx - radius, y: cy - radius, w: 2 * radius, h: 2 * radius, text: `${graph.groupWord} ${g}`, above: true });
  });
  const hosts = placeHosts(graph, at, radius);
  for (let id = 0; id < graph.size; id++) {
    const a = graph.from[id], z = graph.to[id], p = at.get(a) ?? hosts.get(a), q = at.get(z) ?? hosts.get(z);
    if (!p || !q) continue;
    const dx = q[0] - p[0], dy = q[1] - p[1], long = Math.hypot(dx, dy) || 1, beside = graph.duplex ? 0 : .07;
    const ox = -dy / long * beside, oy = dx / long * beside;
    b.line(id, p[0] + ox, p[1] + oy, q[0] + ox, q[1] + oy);
  }
  const r = Math.min(.34, radius * .12);
  for (const [d, [x, y]] of at) {
    b.node(d, x - r, y - r, 2 * r, 2 * r);
    b.label(graph.called(d), x, y - r * 1.25, r, "center", radius * .8, [graph.called(d).replace(/^[^0-9]*/, "")].filter(Boolean));
  }
  for (const [d, [x, y]] of hosts) b.node(d, x - r * .35, y - r * .35, r * .7, r * .7);
  return b.build(width, height, `dragonfly of ${n} groups with ${graph.fabric.switches} switches and ${graph.fabric.hosts} hosts`);
}

/** ellipse is one of a picture's shape, with points at the same distance from each other, as squares see it, from the top on: its half axes, the points, and the distance. */
function ellipse(aspect: number, n: number): { x: number; y: number; at: [number, number][]; gap: number } {
  const x = Math.max(1, aspect), y = Math.max(1, 1 / aspect), fine = 1440;
  const points = Array.from({ length: fine + 1 }, (_, k): [number, number] => { const a = 2 * Math.PI * k / fine - Math.PI / 2; return [x * Math.cos(a), y * Math.sin(a)]; });
  const far = [0];
  for (let k = 1; k <= fine; k++) far.push(far[k - 1] + Math.max(Math.abs(points[k][0] - points[k - 1][0]), Math.abs(points[k][1] - points[k - 1][1])));
  const gap = far[fine] / n;
  return { x, y, gap, at: Array.from({ length: n }, (_, i) => points[far.findIndex((f) => f >= i * gap - 1e-9)]) };
}

/** placeHosts puts hosts around their router, away from the others. */
function placeHosts(graph: Graph, at: Map<number, [number, number]>, radius: number): Map<number, [number, number]> {
  const of = new Map<number, number[]>(), seen = new Set<number>(), out = new Map<number, [number, number]>();
  for (let id = 0; id < graph.size; id++) {
    const a = graph.from[id], z = graph.to[id], [host, sw] = graph.isSwitch(a) ? [z, a] : [a, z];
    if (graph.isSwitch(host) || seen.has(host)) continue;
    seen.add(host);
    const list = of.get(sw);
    if (list) list.push(host); else of.set(sw, [host]);
  }
  const centre = new Map<number, [number, number, number]>();
  for (const [d, [x, y]] of at) {
    const g = graph.devices[d].group, c = centre.get(g) ?? [0, 0, 0];
    centre.set(g, [c[0] + x, c[1] + y, c[2] + 1]);
  }
  for (const [sw, list] of of) {
    const p = at.get(sw), c = centre.get(graph.devices[sw].group);
    if (!p || !c) continue;
    const outward = Math.atan2(p[1] - c[1] / c[2], p[0] - c[0] / c[2]), reach = radius * .2;
    list.forEach((host, i) => {
      const a = outward + (list.length === 1 ? 0 : (i / (list.length - 1) - .5) * 1.2);
      out.set(host, [p[0] + reach * Math.cos(a), p[1] + reach * Math.sin(a)]);
    });
  }
  return out;
}
