// The shortest paths from one device to another, hop by hop.
import type { Graph } from "../graph.ts";
import { Builder, type FlatLayout } from "./layout.ts";

const mostPerHop = 20;

/** path is a drawing of the shortest paths between two devices; null if no path leads there. */
export function path(graph: Graph, from: number, to: number): { layout: FlatLayout; hops: number; cut: number } | null {
  const found = graph.paths(from, to);
  if (!found) return null;
  const b = new Builder(), at = new Map<number, [number, number]>(), step = 9;
  let cut = 0;
  const tall = Math.min(mostPerHop, Math.max(...found.columns.map((c) => c.length))) * 2.4 + 4;
  found.columns.forEach((column, hop) => {
    const shown = column.slice(0, mostPerHop);
    cut += column.length - shown.length;
    shown.forEach((d, i) => at.set(d, [2 + hop * step, 2.5 + (i + .5) * (tall - 4) / shown.length]));
    b.label(hop === 0 ? "from" : hop === found.columns.length - 1 ? "to" : `hop ${hop}`, 2 + hop * step, 1, .7, "center", step);
    if (shown.length < column.length) b.label(`and ${column.length - shown.length} more`, 2 + hop * step, tall - .4, .6, "center", step);
  });
  const between = new Map<string, number>();
  for (const id of found.links) {
    const p = at.get(graph.from[id]), q = at.get(graph.to[id]);
    if (!p || !q) continue;
    const key = Math.min(graph.from[id], graph.to[id]) + "," + Math.max(graph.from[id], graph.to[id]), n = between.get(key) ?? 0;
    between.set(key, n + 1);
    const [l, r] = p[0] < q[0] ? [p, q] : [q, p];
    b.line(id, l[0] + .5, l[1] + n * .16, r[0] - .5, r[1] + n * .16);
  }
  for (const [d, [x, y]] of at) {
    b.node(d, x - .5, y - .35, 1, .7);
    b.label(graph.called(d), x, y - .55, .62, "center", step * .9);
  }
  return { layout: b.build(4 + (found.columns.length - 1) * step, tall, `shortest paths from ${graph.called(from)} to ${graph.called(to)}`), hops: found.columns.length - 1, cut };
}
