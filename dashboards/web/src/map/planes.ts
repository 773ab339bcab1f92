// A torus or mesh cut into planes along its last dimensions. In a plane a switch is a
// square, coloured by its link to the next plane; its links in the first two dimensions
// are bars to the right and below.
import type { Graph } from "../graph.ts";
import { Builder, type FlatLayout } from "./layout.ts";

export function planes(graph: Graph, aspect: number): FlatLayout {
  const dims = graph.fabric.dims!, X = dims[0], Y = dims[1] ?? 1;
  const n = dims.slice(2).reduce((a, b) => a * b, 1);
  const gap = 1.2, head = n > 1 ? Math.max(1.1, X / 10) : .3;
  let best = { columns: 1, scale: 0 };
  for (let columns = 1; columns <= n; columns++) {
    const scale = Math.min(aspect / (columns * (X + gap)), 1 / (Math.ceil(n / columns) * (Y + gap + head - .2)));
    if (scale > best.scale) best = { columns, scale };
  }
  const b = new Builder();
  const origin = (plane: number): [number, number] => [plane % best.columns * (X + gap) + .3, Math.floor(plane / best.columns) * (Y + gap + head - .2) + head];
  for (let plane = 0; plane < n && n > 1; plane++) {
    const [x, y] = origin(plane);
    b.label(planeName(plane, dims), x, y - .25, Math.max(.7, X / 16), "left", X);
    b.frames.push({ x: x - .25, y: y - .15, w: X + .5, h: Y + .35, text: "" });
  }
  const place = (c: number[]): [number, number] => {
    let plane = 0;
    for (let d = dims.length - 1; d >= 2; d--) plane = plane * dims[d] + c[d];
    const [ox, oy] = origin(plane);
    return [ox + c[0], oy + (c[1] ?? 0)];
  };
  graph.devices.forEach((d, i) => {
    if (!d.coord) return;
    const [x, y] = place(d.coord);
    b.node(i, x, y, .48, .48);
  });
  const shift = graph.duplex ? 0 : .26; // the second direction of a cable lies beside the first
  graph.links.dim.forEach((dim, id) => {
    const d = graph.devices[graph.from[id]];
    if (!d.coord) return;
    const back = shift > 0 && graph.links.from_port[id].endsWith("-");
    const c = back ? graph.devices[graph.to[id]].coord ?? d.coord : d.coord, s = back ? shift : 0, thin = shift > 0 ? .18 : .22;
    const [x, y] = place(c);
    if (dim === 0) b.rect(id, x + .5, y + .06 + s * .9, .46, thin);
    else if (dim === 1) b.rect(id, x + .06 + s * .9, y + .5, thin, .46);
    else b.rect(id, x + .02 + (dim - 2) * .12 + s * .9, y + .02 + (dim - 2) * .12, (.46 - (dim - 2) * .24) * (shift ? .5 : 1), .46 - (dim - 2) * .24);
  });
  const rows = Math.ceil(n / best.columns);
  return b.build(best.columns * (X + gap) - gap + .6, rows * (Y + gap + head - .2), `${dims.join(" x ")} ${graph.fabric.wrap ? "torus" : "mesh"}, ${n} plane${n === 1 ? "" : "s"}`);
}

function planeName(plane: number, dims: number[]): string {
  return dims.slice(2).map((d, i) => {
    const at = plane % d;
    plane = Math.floor(plane / d);
    return `${"ZWVUTS"[i]} = ${at}`;
  }).join(", ");
}
