// Matrices: the switches of a tier by those of the tier above it, or the groups of a
// dragonfly by each other. A cell has one part for each link, the upper half for the
// way up (or out of the row's group), the lower for the way back.
import type { Graph } from "../graph.ts";
import { Builder, type FlatLayout } from "./layout.ts";

interface Cell { row: number; column: number; out: number[]; back: number[] }

export function matrix(graph: Graph, aspect: number): FlatLayout {
  return graph.kind === "groups" ? groupMatrix(graph) : tierMatrix(graph, aspect);
}

function draw(b: Builder, cells: Iterable<Cell>, ox: number, oy: number) {
  for (const c of cells) {
    const both = c.back.length > 0, half = both ? .44 : .88;
    const part = (list: number[], y: number) => list.forEach((id, i) => b.rect(id, ox + c.column + .06 + i * .88 / list.length, oy + c.row + y, .88 / list.length - (list.length > 1 ? .03 : 0), half));
    part(c.out, .06);
    part(c.back, .5);
  }
}

function groupMatrix(graph: Graph): FlatLayout {
  const b = new Builder(), ids = [...new Set(graph.devices.map((d) => d.group))].filter((g) => g >= 0).sort((a, z) => a - z);
  const place = new Map(ids.map((g, i) => [g, i])), cells = new Map<string, Cell>(), own = new Map<number, number[]>();
  for (let id = 0; id < graph.size; id++) {
    const a = graph.from[id], z = graph.to[id];
    if (!graph.isSwitch(a) || !graph.isSwitch(z)) continue;
    const i = place.get(graph.devices[a].group), j = place.get(graph.devices[z].group);
    if (i === undefined || j === undefined) continue;
    if (i === j) { own.set(i, [...own.get(i) ?? [], id]); continue; }
    const key = i + "," + j, cell = cells.get(key) ?? { row: i, column: j, out: [], back: [] };
    cell.out.push(id);
    cells.set(key, cell);
  }
  const left = 5, top = 3.2;
  draw(b, cells.values(), left, top);
  for (const [i, list] of own) {
    const side = Math.ceil(Math.sqrt(list.length)), step = .92 / side, rows = Math.ceil(list.length / side), tall = .92 / rows;
    list.forEach((id, k) => b.rect(id, left + i + .04 + k % side * step, top + i + .04 + Math.floor(k / side) * tall, step * .86, tall * .86));
  }
  ids.forEach((g, i) => {
    b.label(`${graph.groupWord} ${g}`, left - .3, top + i + .65, .45, "right", left);
    b.label(String(g), left + i + .5, top - .3, .45, "center", 1);
  });
  b.label("global links from the row's group to the column's group", .3, top - 1.9, .5, "left", left + ids.length);
  b.label("on the diagonal: links within a group", .3, top - 1.25, .42, "left", left + ids.length);
  return b.build(left + ids.length + .5, top + ids.length + .5, `${ids.length} groups by ${ids.length} groups`);
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

function tierMatrix(graph: Graph, aspect: number): FlatLayout {
  const b = new Builder(), levels = graph.levels(), blocks: Block[] = [];
  const levelOf = new Map<number, number>();
  levels.forEach((l, i) => l.switches.forEach((d) => levelOf.set(d, i)));
  for (let i = 0; i + 1 < levels.length; i++) blocks.push(blockOf(graph, levelOf, levels, i));
  if (graph.fabric.hosts > 0) blocks.push(hostBlock(graph, levels[0]));
  const full = blocks.filter((k) => k.cells.length > 0), rows = full.reduce((a, k) => a + (k.columns + 9) * k.rows.length, 0);
  const shown = full.flatMap((k) => folded(graph, k, Math.sqrt(rows / aspect)));
  const total = shown.reduce((a, k) => a + (k.columns + 9) * (k.rows.length + 5), 0), row = Math.max(...shown.map((k) => k.columns + 9), Math.sqrt(total * aspect) * 1.05);
  const ways = shown.length > full.length ? [placed(shown, Infinity)] : [placed(shown, row), placed(shown, Infinity)]; // parts are as tall as the picture
  const scale = (p: Placed) => Math.min(aspect / p.width, 1 / p.height), best = ways.reduce((a, p) => scale(p) > scale(a) ? p : a);
  shown.forEach((k, i) => drawBlock(graph, b, k, ...best.at[i]));
  return b.build(best.width, best.height, full.map((k) => k.title).join("; "));
}

interface Placed { at: [number, number][]; width: number; height: number }

/** placed puts blocks beside each other, in rows that are no wider than a limit. */
function placed(blocks: Block[], limit: number): Placed {
  const at: [number, number][] = [];
  let x = 0, y = 0, tall = 0, wide = 0;
  for (const k of blocks) {
    if (x > 0 && x + k.columns + 9 > limit) { x = 0; y += tall; tall = 0; }
    at.push([x, y]);
    x += k.columns + 9;
    tall = Math.max(tall, k.rows.length + 4.6);
    wide = Math.max(wide, x);
  }
  return { at, width: Math.max(1, wide - 1), height: y + tall };
}

/** folded cuts a block of more rows than the picture has room for into parts of about that many, each of whole groups where these are small. */
function folded(graph: Graph, k: Block, most: number): Block[] {
  const parts: Block[] = [], count = Math.round(k.rows.length / Math.max(24, most)), size = Math.ceil(k.rows.length / count);
  if (count < 2) return [k];
  for (let from = 0, to = 0; from < k.rows.length; from = to) {
    to = Math.min(from + size, k.rows.length);
    let whole = to;
    while (whole > from && whole < k.rows.length && graph.group(k.rows[whole]) === graph.group(k.rows[whole - 1])) whole--;
    if (whole > from + size / 2) to = whole;
    const cells = k.cells.filter((c) => c.row >= from && c.row < to).map((c) => ({ ...c, row: c.row - from }));
    parts.push({ ...k, title: from ? "continued" : k.title, rows: k.rows.slice(from, to), cells });
  }
  return parts;
}

interface Block { title: string; short: string; level: string; rows: number[]; columns: number; heads: string[]; cells: Cell[] }

/** blockOf is a tier by the tier above. Where most cells would be empty, as with pods, the columns are the row's own uplinks in order. */
function blockOf(graph: Graph, levelOf: Map<number, number>, levels: ReturnType<Graph["levels"]>, i: number): Block {
  const lower = levels[i], upper = levels[i + 1];
  const sort = (list: number[]) => [...list].sort((a, z) => graph.devices[a].group - graph.devices[z].group || byName(graph.name(a), graph.name(z)));
  const rows = sort(lower.switches), columns = sort(upper.switches);
  const rowAt = new Map(rows.map((d, k) => [d, k])), columnAt = new Map(columns.map((d, k) => [d, k]));
  const pairs = new Map<string, Cell>(), peers = new Map<number, Set<number>>();
  for (let id = 0; id < graph.size; id++) {
    const up = rowAt.has(graph.from[id]), [low, high] = up ? [graph.from[id], graph.to[id]] : [graph.to[id], graph.from[id]];
    const row = rowAt.get(low), column = columnAt.get(high);
    if (row === undefined || column === undefined || levelOf.get(high) !== i + 1) continue;
    const key = row + "," + column, cell = pairs.get(key) ?? { row, column, out: [], back: [] };
    (up ? cell.out : cell.back).push(id);
    pairs.set(key, cell);
    const set = peers.get(row);
    if (set) set.add(column); else peers.set(row, new Set([column]));
  }
  const cells = [...pairs.values()], sparse = cells.length < .5 * rows.length * columns.length;
  const way = graph.duplex ? "" : "; upper half up, lower half down";
  if (!sparse) return { level: lower.name, title: `${lower.name} by ${upper.name}${way}`, short: `${lower.name} \u00d7 ${upper.name}`, rows, columns: columns.length, heads: columns.map((d) => graph.calledIn(upper.name, d) ?? graph.called(d)), cells };
  let most = 0;
  for (const c of cells) {
    const own = [...peers.get(c.row)!].sort((a, z) => a - z);
    c.column = own.indexOf(c.column);
    most = Math.max(most, own.length);
  }
  return { level: lower.name, title: `${lower.name} by its ${upper.name}s in order${way}`, short: `${lower.name} \u00d7 ${upper.name}`, rows, columns: most, heads: Array.from({ length: most }, (_, k) => String(k)), cells };
}

/** hostBlock is the lowest tier by its host ports. */
function hostBlock(graph: Graph, lowest: ReturnType<Graph["levels"]>[number]): Block {
  const rows = [...lowest.switches].sort((a, z) => graph.devices[a].group - graph.devices[z].group || byName(graph.name(a), graph.name(z)));
  const rowAt = new Map(rows.map((d, k) => [d, k])), perRow = new Map<number, Map<number, Cell>>();
  for (let id = 0; id < graph.size; id++) {
    const a = graph.from[id], z = graph.to[id], up = !graph.isSwitch(a), [host, sw] = up ? [a, z] : [z, a], row = rowAt.get(sw);
    if (graph.isSwitch(host) || row === undefined) continue;
    let own = perRow.get(row);
    if (!own) perRow.set(row, own = new Map());
    const cell = own.get(host) ?? { row, column: 0, out: [], back: [] };
    (up || graph.duplex ? cell.out : cell.back).push(id);
    own.set(host, cell);
  }
  const cells: Cell[] = [];
  let most = 0;
  for (const own of perRow.values()) {
    const sorted = [...own.keys()].sort((a, z) => byName(graph.name(a), graph.name(z)));
    sorted.forEach((host, k) => { const c = own.get(host)!; c.column = k; cells.push(c); });
    most = Math.max(most, sorted.length);
  }
  const way = graph.duplex ? "" : "; upper half in, lower half out";
  return { level: lowest.name, title: `${lowest.name} by its hosts in order${way}`, short: `${lowest.name} \u00d7 hosts`, rows, columns: most, heads: Array.from({ length: most }, (_, k) => String(k)), cells };
}

function drawBlock(graph: Graph, b: Builder, k: Block, x: number, y: number) {
  const left = x + 7, top = y + 3.4;
  draw(b, k.cells, left, top);
  const [title, way] = k.title.split("; ");
  b.label(title, left - 6.5, y + 1, .8, "left", k.columns + 8, [k.short], 10);
  if (way) b.label(way, left - 6.5, y + 1.9, .6, "left", k.columns + 8);
  let last = "";
  k.rows.forEach((d, i) => {
    const g = graph.group(d);
    b.label(graph.called(d), left - .3, top + i + .68, .56, "right", 5.4, [graph.calledIn(k.level, d) ?? ""].filter(Boolean));
    if (g && g !== last) b.label(g, x + .1, top + i + .68, .5, "left", 2.6);
    last = g;
  });
  const every = Math.ceil(Math.max(...k.heads.map((t) => t.length)) * .32);
  k.heads.forEach((t, i) => { if (i % every === 0) b.label(t, left + i + .5, top - .35, .5, "center", Math.max(1, every)); });
}
