// Where the links and switches of a torus or mesh are in space, and the hulls of regions.
import type { Graph } from "../graph.ts";

export interface Lattice {
  /** Two ends of three numbers for each segment; a link around the torus is two segments, a stub at either side. */
  ends: Float32Array;
  link: Uint32Array; // of each segment
  at: Float32Array; // three numbers for each device
  size: [number, number, number];
}

/** place is where a coordinate lies; dimensions above the third are lattices side by side. */
function place(coord: number[], dims: number[]): [number, number, number] {
  let aside = 0;
  for (let d = dims.length - 1; d >= 3; d--) aside = aside * dims[d] + coord[d];
  return [coord[0] + aside * (dims[0] + 2), coord[1] ?? 0, coord[2] ?? 0];
}

const stub = .42; // length of the stubs of a link around the torus

export function lattice(graph: Graph): Lattice {
  const { devices, from, to, duplex } = graph, dims = graph.fabric.dims!, at = new Float32Array(3 * devices.length), known = devices.map((d) => d.coord !== undefined);
  devices.forEach((d, i) => { if (d.coord) at.set(place(d.coord, dims), 3 * i); });
  const ends = new Float32Array(12 * graph.size), link = new Uint32Array(2 * graph.size), p = [0, 0, 0], q = [0, 0, 0];
  let n = 0;
  for (let id = 0; id < graph.size; id++) {
    const a = from[id], z = to[id];
    if (!known[a] || !known[z]) continue;
    const beside = duplex ? 0 : devices[a].coord!.some((v, d) => v < devices[z].coord![d]) ? .05 : -.05;
    let far = 0;
    for (let d = 0; d < 3; d++) {
      const own = (graph.links.dim[id] + 1) % 3 === d ? beside : 0;
      p[d] = at[3 * a + d] + own;
      q[d] = at[3 * z + d] + own;
      far = Math.max(far, Math.abs(q[d] - p[d]));
    }
    for (let d = 0; d < 3; d++) {
      const way = q[d] - p[d], unit = Math.abs(way) > 1.5 ? -Math.sign(way) * stub : 0;
      ends[6 * n + d] = p[d];
      ends[6 * n + 3 + d] = far < 1.5 ? q[d] : p[d] + unit;
      if (far < 1.5) continue;
      ends[6 * n + 6 + d] = q[d];
      ends[6 * n + 9 + d] = q[d] - unit;
    }
    link[n++] = id;
    if (far >= 1.5) link[n++] = id;
  }
  const copies = dims.slice(3).reduce((a, b) => a * b, 1);
  return { ends: ends.slice(0, 6 * n), link: link.slice(0, n), at, size: [dims[0] * copies + 2 * (copies - 1), dims[1] ?? 1, dims[2] ?? 1] };
}

/** Hull is the surface around the switches of a region: triangles of its faces, and the edges where it bends. */
export interface Hull { faces: Float32Array; edges: Float32Array; centre: [number, number, number]; top: [number, number, number] }

const key = (x: number, y: number, z: number) => (x * 4096 + y) * 4096 + z;

/** hull wraps the cells of the switches at which a region's links begin or end. */
export function hull(graph: Graph, l: Lattice, links: number[]): Hull {
  const cells = new Map<number, [number, number, number]>();
  for (const id of links) {
    for (const d of [graph.from[id], graph.to[id]]) {
      const c: [number, number, number] = [l.at[3 * d], l.at[3 * d + 1], l.at[3 * d + 2]];
      cells.set(key(c[0] + 1, c[1] + 1, c[2] + 1), c);
    }
  }
  const has = (x: number, y: number, z: number) => cells.has(key(x + 1, y + 1, z + 1)), faces: number[] = [], edges: number[] = [];
  const half = .47, centre: [number, number, number] = [0, 0, 0], top: [number, number, number] = [0, -Infinity, 0];
  for (const [x, y, z] of cells.values()) {
    centre[0] += x / cells.size; centre[1] += y / cells.size; centre[2] += z / cells.size;
    if (y > top[1]) { top[0] = x; top[1] = y; top[2] = z; }
    for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) face([x, y, z], axis, side, half, has, faces, edges);
  }
  top[0] = centre[0]; top[2] = centre[2];
  return { faces: Float32Array.from(faces), edges: Float32Array.from(edges), centre, top };
}

type Has = (x: number, y: number, z: number) => boolean;

function face(c: number[], axis: number, side: number, half: number, has: Has, faces: number[], edges: number[]) {
  const step = (v: number[], a: number, by: number) => { const n = [...v]; n[a] += by; return n; };
  const is = (v: number[]) => has(v[0], v[1], v[2]);
  if (is(step(c, axis, side))) return;
  const u = (axis + 1) % 3, v = (axis + 2) % 3;
  const reach = (a: number, by: number) => is(step(c, a, by)) ? .5 : half; // cells of one hull touch
  const corner = (su: number, sv: number) => { const p = [...c]; p[axis] += side * half; p[u] += su * reach(u, su); p[v] += sv * reach(v, sv); return p; };
  const a = corner(-1, -1), b = corner(1, -1), d = corner(1, 1), e = corner(-1, 1);
  faces.push(...a, ...b, ...d, ...a, ...d, ...e);
  for (const [along, by, p, q] of [[v, -1, a, b], [u, 1, b, d], [v, 1, d, e], [u, -1, e, a]] as const) {
    const beside = step(c, along, by);
    if (is(beside) && !is(step(beside, axis, side))) continue; // the surface goes on flat
    edges.push(...p, ...q);
  }
}
