// The map: which drawings a fabric has, the one that is shown, and what it is shown.
import { $, h } from "../dom.ts";
import type { Graph } from "../graph.ts";
import { FlatView } from "./flat.ts";
import type { Frame, MapView, Pointing } from "./frame.ts";
import { groups } from "./groups.ts";
import { matrix } from "./matrix.ts";
import { path } from "./path.ts";
import { planes } from "./planes.ts";
import { tiers } from "./tiers.ts";
import { supported } from "./webgl.ts";

const titles: Record<string, string> = { space: "3D", planes: "Planes", tiers: "Tiers", groups: "Groups", matrix: "Matrix", path: "Path" };

/** layoutsOf are the drawings of a fabric, its own first. */
function layoutsOf(graph: Graph): string[] {
  if (graph.kind === "grid") return (graph.fabric.dims!.filter((d) => d > 1).length > 2 ? ["space"] : []).concat("planes", "path");
  return graph.kind === "groups" ? ["groups", "matrix", "path"] : ["tiers", "matrix", "path"];
}

export class Mapper {
  private view: MapView | null = null;
  private key = "";
  private wanted = 0;
  private frame: Frame | null = null;
  /** onLayout is called with the drawing that the user picks. */
  constructor(private readonly host: HTMLElement, private readonly bar: HTMLElement, private readonly pointing: Pointing, private readonly onLayout: (name: string) => void) {
    host.addEventListener("keydown", (e) => this.keyed(e));
  }

  clear() {
    this.wanted++;
    this.view?.destroy();
    this.view = null;
    this.key = "";
    this.frame = null;
  }

  /** show draws a frame; ends are those of the path view. */
  async show(frame: Frame, layout: string, ends: { from: string; to: string }): Promise<void> {
    const { graph } = frame, names = layoutsOf(graph), name = names.includes(layout) ? layout : names[0];
    this.frame = frame;
    this.buttons(names, name);
    const key = `${graph.fabric.name} ${graph.fabric.graph_version} ${name} ${name === "path" ? ends.from + ">" + ends.to : ""}`;
    if (key !== this.key || !this.view) {
      const turn = ++this.wanted, view = await this.make(graph, name, ends);
      if (turn !== this.wanted) { view?.destroy(); return; }
      this.view?.destroy();
      this.view = view;
      this.key = key;
      if (view) this.host.append(view.element);
      this.host.dataset.layout = name;
    }
    this.view?.show(this.frame);
  }

  private async make(graph: Graph, name: string, ends: { from: string; to: string }): Promise<MapView | null> {
    const aspect = Math.max(.6, Math.min(2.6, this.host.clientWidth / Math.max(1, this.host.clientHeight)));
    if (name === "space") {
      const can = supported();
      if (can.ok) return new (await import("./torus.ts")).TorusView(graph, this.pointing, can.software);
      name = "planes"; // a browser without WebGL
    }
    if (name === "path") {
      const a = graph.device(ends.from), b = graph.device(ends.to), found = a !== undefined && b !== undefined && a !== b ? path(graph, a, b) : null;
      return found && new FlatView(found.layout, this.pointing);
    }
    const layout = name === "planes" ? planes(graph, aspect) : name === "groups" ? groups(graph, aspect) : name === "matrix" ? matrix(graph, aspect) : tiers(graph, aspect);
    return new FlatView(layout, this.pointing);
  }

  private buttons(names: string[], name: string) {
    if (this.bar.dataset.names !== names.join()) {
      this.bar.dataset.names = names.join();
      this.bar.replaceChildren(...names.map((n) => h("button", { data: { name: n }, attrs: { type: "button" }, on: { click: () => this.onLayout(n) } }, titles[n])));
    }
    for (const b of this.bar.querySelectorAll<HTMLElement>("button")) b.setAttribute("aria-pressed", String(b.dataset.name === name));
  }

  get empty() { return this.view === null; }
  zoom(factor: number) { this.view?.zoom(factor); }
  reset() { this.view?.reset(); }
  canvas() { return this.view?.canvas() ?? null; }
  svg() { return this.view?.svg() ?? null; }

  private keyed(e: KeyboardEvent) {
    const steps: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, step = steps[e.key], view = this.view;
    if (step && view instanceof FlatView) view.shift(-step[0] * 60, step[1] * 60);
    else if (step && view && "turn" in view) (view as MapView & { turn(a: number, b: number): void }).turn(step[0] * .12, step[1] * .08);
    else if (e.key === "+" || e.key === "=") this.zoom(1.25);
    else if (e.key === "-") this.zoom(.8);
    else if (e.key === "0") this.reset();
    else return;
    e.preventDefault();
  }
}

/** say writes what the map shows for those who cannot see it. */
export const say = (text: string) => { const e = $("says"); if (e.textContent !== text) e.textContent = text; };
