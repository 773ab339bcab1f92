// A tree drawn by tiers: hosts at the bottom, the highest switches on top, pods side by
// side in frames. A switch is a bar as wide as what hangs below it; its links leave from
// their own slots.
import type { Graph } from "../graph.ts";
import { Builder, type FlatLayout } from "./layout.ts";

interface Box { x: number; y: number; w: number; h: number }

export function tiers(graph: Graph, aspect: number): FlatLayout {
  const b = new Builder(), levels = graph.levels();
  const lowest = levels[0]?.switches ?? [];
  const hostsOf = hostsBySwitch(graph);
  const place = new Map<number, Box>();
  const order = byName(graph, lowest);

  // The lowest tier decides what is where from left to right.
  const gap = 1, podGap = 3;
  let x = 0;
  const pods = new Map<number, [number, number]>();
  let last: number | null = null;
  for (const d of order) {
    const pod = graph.devices[d].group, w = Math.max(4, hostsOf.get(d)?.length ?? 0);
    if (last !== null) x += pod !== last ? podGap : gap;
    last = pod;
    place.set(d, { x, y: 0, w, h: 1 });
    if (pod >= 0) pods.set(pod, [pods.get(pod)?.[0] ?? x, x + w]);
    x += w;
  }
  const width = Math.max(x, 12), tall = Math.max(width * 1.08 / aspect, 10), unit = tall / (levels.length - 1 + (hostsOf.size ? .95 : .45));
  const bar = Math.min(unit * .16, Math.max(1.4, width / 70)), base = tall - unit * (hostsOf.size ? .8 : .3);
  for (const box of place.values()) { box.y = base; box.h = bar; }
  levels.slice(1).forEach((tier, i) => placeTier(graph, tier.switches, place, pods, base - (i + 1) * unit, bar, width, gap));
  const dot = Math.min(.8, bar);
  for (const [s, hosts] of hostsOf) {
    const box = place.get(s);
    if (!box) continue;
    hosts.forEach((host, i) => place.set(host, { x: box.x + (i + .5) * box.w / hosts.length - dot / 2, y: box.y + unit * .55, w: dot, h: dot }));
  }
  drawLinks(graph, b, place);
  for (const [d, p] of place) b.node(d, p.x, p.y, p.w, p.h);
  writeLabels(graph, b, place, levels, pods, { base, unit, bar, dot, width });
  const left = Math.max(6, width * .07), right = Math.max(1.5, width * .01); // a pod's frame is wider than the pod
  return shifted(b.build(width + left + right, tall, summary(graph, levels, pods.size)), left);
}

function summary(graph: Graph, levels: { name: string; switches: number[] }[], pods: number): string {
  const parts = [...levels].reverse().map((l) => `${l.switches.length} ${l.name}`);
  return `tree of ${parts.join(", ")}${pods > 1 && graph.groupWord !== "leaf" ? `, ${pods} ${graph.groupWord}s` : ""}, ${graph.fabric.hosts} hosts`;
}

function hostsBySwitch(graph: Graph): Map<number, number[]> {
  const out = new Map<number, number[]>(), seen = new Set<number>();
  for (let id = 0; id < graph.size; id++) {
    const a = graph.from[id], z = graph.to[id], [host, sw] = graph.isSwitch(a) ? [z, a] : [a, z];
    if (graph.isSwitch(host) || !graph.isSwitch(sw) || seen.has(host)) continue;
    seen.add(host);
    const list = out.get(sw);
    if (list) list.push(host); else out.set(sw, [host]);
  }
  return out;
}

function byName(graph: Graph, list: number[]): number[] {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return [...list].sort((a, b) => graph.devices[a].group - graph.devices[b].group || compare(graph.name(a), graph.name(b)));
}

/** placeTier spreads the switches of a tier: those of a pod over their pod, others over the whole width. */
function placeTier(graph: Graph, switches: number[], place: Map<number, Box>, pods: Map<number, [number, number]>, y: number, h: number, width: number, gap: number) {
  const ordered = byName(graph, switches), by = new Map<number, number[]>();
  for (const d of ordered) {
    const g = pods.has(graph.devices[d].group) ? graph.devices[d].group : -1, list = by.get(g);
    if (list) list.push(d); else by.set(g, [d]);
  }
  for (const [g, list] of by) {
    const [from, to] = pods.get(g) ?? [0, width];
    const step = (to - from) / list.length, w = Math.max(step * .3, Math.min(step - gap * .4, step * .9));
    list.forEach((d, i) => place.set(d, { x: from + i * step + (step - w) / 2, y, w, h }));
  }
}

/** cables numbers the cable of each link by its first link: the two directions of one have the same ports at the same ends. */
function cables(graph: Graph): Uint32Array {
  const { from, to, size, duplex } = graph, { from_port, to_port } = graph.links;
  const first = new Map<number, number>(), next = new Int32Array(size).fill(-1), out = new Uint32Array(size);
  const ahead = (id: number) => duplex || from[id] < to[id], same = (m: number, n: number) => ahead(m) === ahead(n)
    ? from[m] === from[n] && from_port[m] === from_port[n] && to_port[m] === to_port[n]
    : from_port[m] === to_port[n] && to_port[m] === from_port[n];
  for (let id = 0; id < size; id++) {
    const pair = Math.min(from[id], to[id]) * graph.devices.length + Math.max(from[id], to[id]), before = first.get(pair) ?? -1;
    let cable = before;
    while (cable >= 0 && !same(cable, id)) cable = next[cable];
    if (cable < 0) { cable = id; next[id] = before; first.set(pair, id); }
    out[id] = cable;
  }
  return out;
}

/** drawLinks gives each link a slot on either bar, in the order of the far ends; the two directions of a cable lie side by side. */
function drawLinks(graph: Graph, b: Builder, place: Map<number, Box>) {
  const { from, to } = graph, slots = new Map<number, { up: number[]; down: number[] }>(), cable = cables(graph);
  const across = new Float64Array(graph.devices.length);
  for (const [d, p] of place) across[d] = p.x;
  for (let id = 0; id < graph.size; id++) {
    const p = place.get(from[id]), q = place.get(to[id]);
    if (cable[id] !== id || !p || !q || p.y === q.y) continue;
    for (const [d, up] of [[from[id], q.y < p.y], [to[id], p.y < q.y]] as const) {
      let s = slots.get(d);
      if (!s) slots.set(d, s = { up: [], down: [] });
      (up ? s.up : s.down).push(id);
    }
  }
  const at = { from: new Float64Array(graph.size), to: new Float64Array(graph.size) }; // of the first link of each cable
  for (const [d, s] of slots) {
    const p = place.get(d)!;
    for (const list of [s.up, s.down]) {
      const far = (id: number) => across[from[id] === d ? to[id] : from[id]];
      list.sort((m, n) => far(m) - far(n) || m - n);
      list.forEach((id, i) => { (from[id] === d ? at.from : at.to)[id] = p.x + (i + .5) * p.w / list.length; });
    }
  }
  for (let id = 0; id < graph.size; id++) {
    const a = from[id], z = to[id], p = place.get(a), q = place.get(z), main = cable[id], [here, there] = from[main] === a ? [at.from, at.to] : [at.to, at.from];
    if (!p || !q) continue;
    if (p.y === q.y) { // between two switches of a level, from side to side
      const y = p.y + p.h * (.5 + (graph.duplex ? 0 : a < z ? -.2 : .2)), right = p.x < q.x;
      b.line(id, right ? p.x + p.w : p.x, y, right ? q.x : q.x + q.w, y);
      continue;
    }
    const up = q.y < p.y, width = Math.min(p.w / Math.max(1, (slots.get(a)?.[up ? "up" : "down"].length ?? 1)), q.w / Math.max(1, (slots.get(z)?.[up ? "down" : "up"].length ?? 1)));
    const beside = graph.duplex ? 0 : (a < z ? -1 : 1) * Math.min(.18 * width, .22);
    b.line(id, here[main] + beside, up ? p.y : p.y + p.h, there[main] + beside, up ? q.y + q.h : q.y);
  }
}

interface Measure { base: number; unit: number; bar: number; dot: number; width: number }

function writeLabels(graph: Graph, b: Builder, place: Map<number, Box>, levels: ReturnType<Graph["levels"]>, pods: Map<number, [number, number]>, m: Measure) {
  const left = -Math.max(6, m.width * .07), size = Math.max(1.2, m.width * .011);
  levels.forEach((l, i) => b.label(l.name, left + .5, m.base - i * m.unit + m.bar * .5 + size * .35, size, "left", -left));
  const hosts = graph.fabric.hosts > 0;
  if (hosts) b.label("hosts", left + .5, m.base + m.unit * .55 + m.dot / 2 + size * .35, size, "left", -left);
  const tops = new Map<number, number>();
  for (const l of levels) for (const d of l.switches) { const g = graph.devices[d].group, p = place.get(d); if (p) tops.set(g, Math.min(tops.get(g) ?? Infinity, p.y)); }
  if (pods.size > 1) {
    for (const [g, [from, to]] of pods) {
      const top = (tops.get(g) ?? m.base) - m.unit * .16, bottom = m.base + m.unit * (hosts ? .76 : .28);
      b.frames.push({ x: from - 1, y: top, w: to - from + 2, h: bottom - top, text: `${graph.groupWord} ${g}`, low: true });
    }
  }
  for (const l of levels) {
    const pod = new Map<number, number[]>(), apart = new Map<number, string>();
    for (const d of l.switches) { const g = graph.devices[d].group, list = pod.get(g); if (list) list.push(d); else pod.set(g, [d]); }
    for (const list of pod.values()) if (list.length > 1) for (const [d, name] of graph.apart(list)) apart.set(d, name);
    for (const d of l.switches) {
      const p = place.get(d), short = [graph.calledIn(l.name, d), apart.get(d)].filter((t): t is string => !!t);
      if (p) b.label(graph.called(d), p.x + p.w / 2, p.y + p.h * .76, p.h * .72, "center", p.w, short);
    }
  }
}

function shifted(l: FlatLayout, by: number): FlatLayout {
  for (let i = 0; i < l.lines.geo.length; i += 2) l.lines.geo[i] += by;
  for (let i = 0; i < l.nodes.geo.length; i += 4) l.nodes.geo[i] += by;
  for (const f of l.frames) f.x += by;
  for (const t of l.labels) t.x += by;
  return l;
}
