// What a map is to show: an interval's values as colours, with regions, the selection and jobs.
import { colours, indexOf, scaleMax } from "../colour.ts";
import type { Graph } from "../graph.ts";
import type { Region } from "../types.ts";

export type Selection = { link: number } | { device: number } | null;

/** Scale turns the values of links into colours: css and rgb by index, index by link; the order is that of drawing, the most important last. */
interface Scale { css: string[]; rgb: Uint8Array; index: Uint16Array; heat: Uint8Array }

export interface Frame {
  graph: Graph;
  values: Float32Array; // percent by link; NaN: not measured
  scale: Scale;
  regions: Region[]; // of the metric that is shown
  focus: number | null; // id of the region that is pointed at or chosen
  selected: Selection;
  roots: { device: number; link: number }[]; // where back pressure begins
  jobs: Map<number, string>; // device -> colour of the job on it
}

const missingIndex = 601;

/** stallScale is the scale of one interval. */
export function stallScale(values: Float32Array, into?: Scale): Scale {
  const p = colours(), n = values.length;
  const index = into?.index.length === n ? into.index : new Uint16Array(n), heat = into?.heat.length === n ? into.heat : new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const v = values[i];
    index[i] = v !== v ? missingIndex : indexOf(v);
    heat[i] = v !== v ? 0 : Math.min(255, Math.max(0, v / scaleMax * 255));
  }
  return { css: [...p.css, p.missing], rgb: withLast(p.table, p.missingRGB), index, heat };
}

function withLast(table: Uint8Array, last: readonly number[]): Uint8Array {
  const t = new Uint8Array(table.length + 3);
  t.set(table);
  t.set(last, table.length);
  return t;
}

/** changeLimit is the change, in points of percent, at the ends of the scale of changes. */
export const changeLimit = 30;

/** changeScale is the scale of what changed from one interval to another: blue is less, orange is more. */
export function changeScale(before: Float32Array, after: Float32Array): Scale {
  const p = colours(), n = after.length, steps = 200, css: string[] = [], rgb = new Uint8Array((steps + 2) * 3);
  const middle = p.dark ? [40, 52, 68] : [222, 227, 232], less = p.dark ? [70, 170, 255] : [0, 90, 170], more = p.dark ? [255, 150, 60] : [190, 80, 0];
  for (let i = 0; i <= steps; i++) {
    const f = Math.abs(i - steps / 2) / (steps / 2), end = i < steps / 2 ? less : more;
    for (let c = 0; c < 3; c++) rgb[3 * i + c] = Math.round(middle[c] + f * (end[c] - middle[c]));
    css.push(`rgb(${rgb[3 * i]},${rgb[3 * i + 1]},${rgb[3 * i + 2]})`);
  }
  rgb.set(p.missingRGB, 3 * (steps + 1));
  css.push(p.missing);
  const index = new Uint16Array(n), heat = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const change = after[i] - before[i];
    index[i] = change !== change ? steps + 1 : Math.round((Math.max(-1, Math.min(1, change / changeLimit)) + 1) * steps / 2);
    heat[i] = change !== change ? 0 : Math.min(255, Math.abs(change) / changeLimit * 255);
  }
  return { css, rgb, index, heat };
}

/** order sorts the items by the heat of their links, ascending, by counting. */
export function order(link: Uint32Array, heat: Uint8Array): Uint32Array {
  const start = new Uint32Array(257), out = new Uint32Array(link.length);
  for (let i = 0; i < link.length; i++) start[heat[link[i]] + 1]++;
  for (let b = 0; b < 256; b++) start[b + 1] += start[b];
  for (let i = 0; i < link.length; i++) out[start[heat[link[i]]]++] = i;
  return out;
}

/** MapView draws frames into an element. */
export interface MapView {
  readonly element: HTMLElement;
  show(frame: Frame): void;
  reset(): void;
  zoom(factor: number): void;
  canvas(): HTMLCanvasElement;
  /** svg is the picture as a drawing; null where the view has none. */
  svg(): string | null;
  destroy(): void;
}

export interface Pointing {
  over(what: Selection, x: number, y: number): void;
  pick(what: Selection): void;
}
