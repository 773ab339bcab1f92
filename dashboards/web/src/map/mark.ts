// What is written and marked over a map, with a rim of the ground's colour.
import { colours } from "../colour.ts";
import type { Graph } from "../graph.ts";
import type { Selection } from "./frame.ts";

/** nameFont is that of names over a map. */
export const nameFont = "600 12px system-ui, sans-serif";

/** say writes a text with a rim. */
export function say(c: CanvasRenderingContext2D, text: string, x: number, y: number, colour: string, align: CanvasTextAlign) {
  c.font = nameFont;
  c.textAlign = align;
  c.lineWidth = 4;
  c.lineJoin = "round";
  c.strokeStyle = colours().ground;
  c.strokeText(text, x, y);
  c.fillStyle = colour;
  c.fillText(text, x, y);
}

/** ring marks a point. */
function ring(c: CanvasRenderingContext2D, [x, y]: [number, number], r: number, colour: string) {
  for (const [style, width] of [[colours().ground, 4], [colour, 2]] as const) {
    c.strokeStyle = style;
    c.lineWidth = width;
    c.beginPath();
    c.arc(x, y, r, 0, 7);
    c.stroke();
  }
}

/** markRoots marks where back pressure begins. */
export function markRoots(c: CanvasRenderingContext2D, roots: [number, number][]) {
  const colour = colours().severity.High, room = named(roots);
  roots.forEach((at, i) => { ring(c, at, 9, colour); if (room[i]) say(c, "root", at[0] + 13, at[1] + 4, colour, "left"); });
}

/** markSelected marks what is selected, with its name above it, or below where there is no room; w is the width of the picture. */
export function markSelected(c: CanvasRenderingContext2D, at: [number, number], w: number, graph: Graph, what: NonNullable<Selection>) {
  const [x, y] = at, text = "link" in what ? graph.linkShort(what.link) : graph.called(what.device);
  ring(c, at, 12, colours().accent);
  c.font = nameFont;
  const half = c.measureText(text).width / 2 + 4;
  say(c, text, Math.max(half, Math.min(w - half, x)), y > 32 ? y - 19 : y + 28, colours().accent, "center");
}

/** named tells of marks, at points of the picture, which have room for a word at their right: no other mark is there. */
function named(marks: [number, number][]): boolean[] {
  const wide = 52, tall = 16; // pixels that mark and word take
  return marks.map(([x, y], i) => !marks.some(([x2, y2], j) => Math.abs(y2 - y) < tall && (x2 > x || x2 === x && j > i) && x2 - x < wide));
}
