// What is written over the torus: axes, the names of regions, root ports, the selection, jobs.
import { Vector3, type PerspectiveCamera } from "three";
import { colours, rank } from "../colour.ts";
import type { Graph } from "../graph.ts";
import type { Frame } from "./frame.ts";
import type { Hull, Lattice } from "./lattice.ts";
import { markRoots, markSelected, nameFont, say } from "./mark.ts";

const mostNames = 8; // of regions on the map
const nameShift = 22; // pixels from the coordinates of an axis out to its name
/** axisMargin is how much room, in pixels, the coordinates and the name of an axis take beside the box. */
export const axisMargin = nameShift + 12;
const buttons = 60; // pixels at the lower right that the buttons take
const mostShift = 40; // pixels that a name may be moved

export class Overlay {
  readonly canvas = document.createElement("canvas");
  private w = 0;
  private h = 0;
  private readonly v = new Vector3();

  constructor(host: HTMLElement, private readonly camera: PerspectiveCamera, private readonly lattice: Lattice, private readonly graph: Graph) {
    this.canvas.className = "overlay";
    this.canvas.setAttribute("aria-hidden", "true");
    host.append(this.canvas);
  }

  resize(w: number, h: number) {
    const ratio = devicePixelRatio || 1;
    this.w = w;
    this.h = h;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
  }

  private at(x: number, y: number, z: number): [number, number] {
    this.v.set(x, y, z).project(this.camera);
    return [(this.v.x + 1) / 2 * this.w, (1 - this.v.y) / 2 * this.h];
  }

  draw(frame: Frame | null, hulls: Hull[]) {
    const c = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    if (!c) return;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.w, this.h);
    this.axes(c);
    if (!frame) return;
    this.jobs(c, frame);
    this.names(c, frame, hulls);
    markRoots(c, frame.roots.map((r) => this.place(r.device, r.link)).filter((at) => at !== null));
    const chosen = frame.selected && this.place("device" in frame.selected ? frame.selected.device : -1, "link" in frame.selected ? frame.selected.link : -1);
    if (chosen) markSelected(c, chosen, this.w, this.graph, frame.selected!);
    this.canvas.textContent = [`${this.graph.fabric.dims!.join(" x ")} ${this.graph.fabric.wrap ? "torus" : "mesh"} in space`, ...frame.regions.map((r) => `${r.severity} region ${r.name ?? r.id}`)].join(", ");
  }

  /** names writes the worst regions at their hulls; one that would cover another's name is moved up a little, and left out where that is not enough. */
  private names(c: CanvasRenderingContext2D, frame: Frame, hulls: Hull[]) {
    const taken: { x: number; y: number; half: number }[] = [], order = frame.regions.map((_, i) => i).sort((a, b) => rank(frame.regions[b].severity) - rank(frame.regions[a].severity) || frame.regions[b].mean - frame.regions[a].mean);
    let left = 0;
    c.font = nameFont;
    for (const i of order) {
      const r = frame.regions[i];
      if (!hulls[i] || frame.focus !== null && r.id !== frame.focus) continue;
      const text = `${r.severity}, ${r.size} links, mean ${r.mean.toFixed(0)}%`, half = c.measureText(text).width / 2 + 4, [px, top] = this.at(hulls[i].top[0], hulls[i].top[1] + .9, hulls[i].top[2]), x = Math.max(half, Math.min(this.w - half, px));
      let y = Math.max(14, top);
      const covers = () => taken.some((t) => Math.abs(t.x - x) < t.half + half && Math.abs(t.y - y) < 16);
      while (covers() && top - y < mostShift && y > 14) y -= 4;
      if (taken.length >= mostNames || covers()) { left++; continue; }
      taken.push({ x, y, half });
      say(c, text, x, y, colours().severity[r.severity], "center");
    }
    if (!left) return;
    const all = `${left} more ${left === 1 ? "region" : "regions"} without a name here; the list has all`, fits = c.measureText(all).width < this.w - 12 - buttons;
    say(c, fits ? all : `${left} more in the list`, 12, this.h - 12, colours().faint, "left");
  }

  /** place is where a link, or else a device, is in the picture. */
  private place(device: number, link: number): [number, number] | null {
    const s = link >= 0 ? this.lattice.link.indexOf(link) : -1;
    if (s >= 0) {
      const e = this.lattice.ends.subarray(6 * s, 6 * s + 6);
      return this.at((e[0] + e[3]) / 2, (e[1] + e[4]) / 2, (e[2] + e[5]) / 2);
    }
    return device < 0 ? null : this.at(this.lattice.at[3 * device], this.lattice.at[3 * device + 1], this.lattice.at[3 * device + 2]);
  }

  private jobs(c: CanvasRenderingContext2D, frame: Frame) {
    for (const [device, colour] of frame.jobs) {
      const [x, y] = this.at(this.lattice.at[3 * device], this.lattice.at[3 * device + 1], this.lattice.at[3 * device + 2]);
      c.fillStyle = colour;
      c.fillRect(x - 2.5, y - 2.5, 5, 5);
    }
  }

  /** axes draws the box of the fabric with the coordinates at three of its edges. */
  private axes(c: CanvasRenderingContext2D) {
    const p = colours(), [X, Y, Z] = this.lattice.size, lo = -.8, hi = [X - .2, Y - .2, Z - .2], names = ["X", "Y", "Z"];
    c.strokeStyle = p.edge;
    c.lineWidth = 1;
    c.beginPath();
    const corner = (i: number): [number, number, number] => [i & 1 ? hi[0] : lo, i & 2 ? hi[1] : lo, i & 4 ? hi[2] : lo];
    for (const [a, b] of [[0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 6], [4, 5], [4, 6], [3, 7], [5, 7], [6, 7]]) {
      c.moveTo(...this.at(...corner(a)));
      c.lineTo(...this.at(...corner(b)));
    }
    c.stroke();
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "middle";
    const out = 1.0, low = lo - out;
    for (let axis = 0; axis < 3; axis++) {
      const n = this.graph.fabric.dims![axis] ?? 1, every = Math.max(1, Math.round(n / 6));
      if (n < 2) continue;
      const side = this.near(axis, hi, low);
      for (let k = 0; k < n; k += every) {
        const at = [...side];
        at[axis] = k;
        const [x, y] = this.at(at[0], at[1], at[2]);
        c.fillStyle = p.faint;
        c.fillText(String(k), x, y);
      }
      const at = [...side];
      at[axis] = (n - 1) / 2;
      const [x, y] = this.at(at[0], at[1], at[2]), [mx, my] = this.at(hi[0] / 2, hi[1] / 2, hi[2] / 2), far = Math.hypot(x - mx, y - my) || 1;
      c.fillStyle = p.ink;
      c.font = "600 13px system-ui, sans-serif";
      c.fillText(names[axis], Math.max(8, Math.min(this.w - 8, x + nameShift * (x - mx) / far)), Math.max(8, Math.min(this.h - 8, y + nameShift * (y - my) / far)));
      c.font = "11px system-ui, sans-serif";
    }
    c.textBaseline = "alphabetic";
  }

  /** near is the edge of an axis along the bottom of the box that is nearest to the eye; for Y one at the side. */
  private near(axis: number, hi: number[], low: number): number[] {
    const eye = this.camera.position, middle = hi.map((v) => v / 2), pick = (d: number) => (d === 0 ? eye.x : eye.z) > middle[d] ? hi[d] + .8 : low;
    if (axis === 0) return [0, low + .4, pick(2)];
    if (axis === 2) return [pick(0), low + .4, 0];
    return [eye.x > middle[0] ? low + .3 : hi[0] + .5, 0, pick(2)];
  }
}
