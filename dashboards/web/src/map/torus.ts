// The torus or mesh in space. While the view moves, the hot links, the hulls and a thinned
// lattice are drawn, as many links as the machine can do at 20 frames a second or more;
// when it rests, every link is drawn, in slices.
import {
  BufferAttribute, BufferGeometry, Color, ColorManagement, DoubleSide, LinearSRGBColorSpace, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, PerspectiveCamera, Scene, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import { colours } from "../colour.ts";
import { order, type Frame, type MapView, type Pointing, type Selection } from "./frame.ts";
import { hull, lattice, type Hull, type Lattice } from "./lattice.ts";
import { axisMargin, Overlay } from "./overlay.ts";
import type { Graph } from "../graph.ts";

ColorManagement.enabled = false; // colours are those of the scale, as they are

const restAfter = 140; // ms without a movement
const sliceSegments = 40_000; // drawn at a time when at rest
const hotHeat = 255 * 5 / 60; // of links that are drawn thick: 5% of time and above
const mostHot = 3000;

export class TorusView implements MapView {
  readonly element = document.createElement("div");
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(38, 1, .1, 4000);
  private readonly controls: OrbitControls;
  private readonly overlay: Overlay;
  private readonly lattice: Lattice;
  private readonly all: LineSegments<BufferGeometry, LineBasicMaterial>;
  private readonly thin: LineSegments<BufferGeometry, LineBasicMaterial>;
  private readonly tint: BufferAttribute;
  private hot: LineSegments2 | null = null;
  private hulls: { hull: Hull; face: Mesh<BufferGeometry, MeshBasicMaterial>; edge: LineSegments<BufferGeometry, LineBasicMaterial> }[] = [];
  private frame: Frame | null = null;
  private sorted: Uint32Array = new Uint32Array(0);
  private budget: number;
  private moving = false;
  private resting: ReturnType<typeof setTimeout> | undefined;
  private painting = 0;
  private lastFrame = 0;
  private placed = false;
  private steered = false; // by the user: then the view stays as it is
  private screen: Float32Array | null = null; // ends of the segments in pixels, while at rest
  private readonly watch = new ResizeObserver(() => this.resized());
  private readonly lean: boolean; // what costs most is left out while moving
  /** frames counts what was drawn while moving, for tests and measurements. */
  readonly drawn = { moving: 0, rest: 0 };

  constructor(private readonly graph: Graph, private readonly pointing: Pointing, software: boolean) {
    this.lattice = lattice(graph);
    const n = this.lattice.link.length;
    this.renderer = new WebGLRenderer({ antialias: !software || n < 8000, preserveDrawingBuffer: true, powerPreference: "high-performance" });
    this.renderer.outputColorSpace = LinearSRGBColorSpace;
    this.renderer.autoClear = false;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio || 1, software ? 1 : 2));
    this.lean = software && n > 8000;
    this.budget = software ? 9000 : 200_000;
    this.element.className = "torus";
    this.element.append(this.renderer.domElement);
    this.overlay = new Overlay(this.element, this.camera, this.lattice, graph);
    const shape = new BufferAttribute(this.lattice.ends, 3);
    this.tint = new BufferAttribute(new Uint8Array(8 * n), 4, true);
    const segments = () => {
      const g = new BufferGeometry();
      g.setAttribute("position", shape);
      g.setAttribute("color", this.tint);
      const s = new LineSegments(g, new LineBasicMaterial({ vertexColors: true, transparent: true, depthTest: false, depthWrite: false }));
      s.frustumCulled = false;
      return s;
    };
    this.all = segments();
    this.thin = segments();
    this.all.geometry.setIndex(new BufferAttribute(new Uint32Array(2 * n), 1));
    this.thin.geometry.setIndex(new BufferAttribute(new Uint32Array(2 * n), 1));
    this.scene.add(this.all, this.thin);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.moved());
    this.controls.addEventListener("start", () => { this.steered = true; });
    this.home();
    this.watch.observe(this.element);
    this.listen();
  }

  private get reach() { return Math.hypot(...this.lattice.size); }
  private centre() { const [x, y, z] = this.lattice.size; return new Vector3((x - 1) / 2, (y - 1) / 2, (z - 1) / 2); }

  /** home looks at the whole fabric, from the side on which the worst region is. */
  private home() {
    const c = this.centre(), direction = new Vector3(1, .72, 1.3).normalize(), worst = this.hulls[0]?.hull.centre;
    if (worst) {
      const to = new Vector3(...worst).sub(c).divideScalar(this.reach / 2);
      direction.add(new Vector3(to.x * 1.2, Math.max(-.2, to.y * .6), to.z * 1.2)).normalize();
    }
    this.controls.target.copy(c);
    this.camera.position.copy(c).addScaledVector(direction, this.reach * 1.5);
    this.camera.near = this.reach / 100;
    this.camera.far = this.reach * 20;
    this.camera.lookAt(c);
    for (let i = 0; i < 4; i++) this.centreAndFit();
    this.controls.update();
  }

  /** centreAndFit shifts the view to the middle of the box of the fabric and moves to where it fits. */
  private centreAndFit() {
    const [x, y, z] = this.lattice.size, corner = new Vector3(), low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
    for (let i = 0; i < 8; i++) {
      corner.set(i & 1 ? x + .4 : -1.4, i & 2 ? y : -1.6, i & 4 ? z + .4 : -1.4).project(this.camera);
      for (const [k, v] of [corner.x, corner.y].entries()) { low[k] = Math.min(low[k], v); high[k] = Math.max(high[k], v); }
    }
    const arm = this.camera.position.clone().sub(this.controls.target), far = arm.length(), tall = far * Math.tan(this.camera.fov * Math.PI / 360);
    const shift = new Vector3((low[0] + high[0]) / 2 * tall * this.camera.aspect, (low[1] + high[1]) / 2 * tall, 0).applyQuaternion(this.camera.quaternion);
    const free = Math.max(.5, 1 - 2 * axisMargin / (this.element.clientWidth || Infinity)); // of the width; above and below the title of an axis never stands
    const fill = Math.max((high[0] - low[0]) / 2 / Math.min(.97, free), (high[1] - low[1]) / 2 / .97);
    this.controls.target.add(shift);
    this.camera.position.copy(this.controls.target).addScaledVector(arm.normalize(), far * fill);
  }

  show(frame: Frame) {
    this.frame = frame;
    this.colour(frame);
    this.thicken(frame);
    this.wrap(frame);
    if (!this.placed && this.camera.aspect > 0) { this.placed = true; this.home(); }
    if (!this.moving) this.rest();
  }

  reset() { this.steered = false; this.home(); this.moved(); }
  zoom(factor: number) {
    this.steered = true;
    this.camera.position.sub(this.controls.target).divideScalar(factor).add(this.controls.target);
    this.controls.update();
    this.moved();
  }

  /** turn moves the camera around the fabric, in radians. */
  turn(side: number, up: number) {
    const arm = this.camera.position.clone().sub(this.controls.target), length = arm.length();
    this.steered = true;
    let azimuth = Math.atan2(arm.x, arm.z), height = Math.asin(arm.y / length);
    azimuth += side;
    height = Math.max(-1.5, Math.min(1.5, height + up));
    arm.set(Math.sin(azimuth) * Math.cos(height), Math.sin(height), Math.cos(azimuth) * Math.cos(height)).multiplyScalar(length);
    this.camera.position.copy(this.controls.target).add(arm);
    this.controls.update();
    this.moved();
  }

  svg() { return null; }

  canvas() {
    const c = document.createElement("canvas"), from = this.renderer.domElement;
    c.width = from.width;
    c.height = from.height;
    const d = c.getContext("2d")!;
    d.drawImage(from, 0, 0);
    d.drawImage(this.overlay.canvas, 0, 0, c.width, c.height);
    return c;
  }

  destroy() {
    this.watch.disconnect();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.painting);
    this.controls.dispose();
    this.dropHulls();
    this.dropHot();
    for (const s of [this.all, this.thin]) { s.geometry.dispose(); s.material.dispose(); }
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    this.element.remove();
  }

  private colour(frame: Frame) {
    const { link } = this.lattice, t = this.tint.array as Uint8Array, { index, rgb, heat } = frame.scale, up = frame.graph.links.up;
    const dark = colours().dark, calm = this.lattice.link.length > 20_000 ? (dark ? 70 : 90) : dark ? 150 : 170;
    for (let i = 0; i < link.length; i++) {
      const id = link[i], c = 3 * index[id], a = up[id] ? Math.min(255, calm + heat[id] * 4) : 25;
      for (const o of [8 * i, 8 * i + 4]) { t[o] = rgb[c]; t[o + 1] = rgb[c + 1]; t[o + 2] = rgb[c + 2]; t[o + 3] = a; }
    }
    this.tint.needsUpdate = true;
    this.sorted = order(link, heat);
    const all = this.all.geometry.index!;
    fill(all.array as Uint32Array, this.sorted, 0, 1);
    all.needsUpdate = true;
    this.thinOut();
  }

  /** thinOut chooses the segments that are drawn while moving: the hottest, and an even share of the others. */
  private thinOut() {
    const n = this.sorted.length, index = this.thin.geometry.index!, into = index.array as Uint32Array;
    const hot = Math.min(n, Math.floor(this.budget / 2)), step = Math.max(1, Math.ceil((n - hot) / Math.max(1, this.budget - hot)));
    let used = fill(into, this.sorted.subarray(0, n - hot), 0, step);
    used = fill(into, this.sorted.subarray(n - hot), used, 1);
    this.thin.geometry.setDrawRange(0, 2 * used);
    index.needsUpdate = true;
  }

  private dropHot() {
    if (!this.hot) return;
    this.scene.remove(this.hot);
    this.hot.geometry.dispose();
    this.hot.material.dispose();
    this.hot = null;
  }

  /** thicken draws the hot links as thick lines. */
  private thicken(frame: Frame) {
    this.dropHot();
    const { link, ends } = this.lattice, { heat, index, rgb } = frame.scale;
    let first = this.sorted.length;
    while (first > 0 && this.sorted.length - first < mostHot && heat[link[this.sorted[first - 1]]] >= hotHeat) first--;
    const chosen = this.sorted.subarray(first);
    if (chosen.length === 0) return;
    const at = new Float32Array(6 * chosen.length), tint = new Float32Array(6 * chosen.length), colour = new Color();
    chosen.forEach((s, k) => {
      at.set(ends.subarray(6 * s, 6 * s + 6), 6 * k);
      const c = 3 * index[link[s]];
      colour.setRGB(rgb[c] / 255, rgb[c + 1] / 255, rgb[c + 2] / 255);
      for (const o of [0, 3]) tint.set([colour.r, colour.g, colour.b], 6 * k + o);
    });
    const geometry = new LineSegmentsGeometry();
    geometry.setPositions(at);
    geometry.setColors(tint);
    this.hot = new LineSegments2(geometry, new LineMaterial({ vertexColors: true, linewidth: this.lattice.link.length > 20_000 ? 2.2 : 3.4, depthTest: false, depthWrite: false, transparent: true }));
    this.hot.frustumCulled = false;
    this.hot.renderOrder = 2;
    this.scene.add(this.hot);
  }

  private dropHulls() {
    for (const h of this.hulls) for (const m of [h.face, h.edge]) { this.scene.remove(m); m.geometry.dispose(); m.material.dispose(); }
    this.hulls = [];
  }

  /** wrap draws the hulls of the regions. */
  private wrap(frame: Frame) {
    this.dropHulls();
    for (const r of frame.regions) {
      const made = hull(this.graph, this.lattice, r.links), colour = new Color().setStyle(colours().severity[r.severity]), dim = frame.focus !== null && r.id !== frame.focus;
      const faces = new BufferGeometry().setAttribute("position", new BufferAttribute(made.faces, 3)), edges = new BufferGeometry().setAttribute("position", new BufferAttribute(made.edges, 3));
      const face = new Mesh(faces, new MeshBasicMaterial({ color: colour, transparent: true, opacity: dim ? .02 : .07, side: DoubleSide, depthWrite: false, depthTest: false }));
      const edge = new LineSegments(edges, new LineBasicMaterial({ color: colour, transparent: true, opacity: dim ? .2 : .85, depthTest: false }));
      face.renderOrder = 1;
      edge.renderOrder = 3;
      this.scene.add(face, edge);
      this.hulls.push({ hull: made, face, edge });
    }
  }

  private resized() {
    const w = this.element.clientWidth, hgt = this.element.clientHeight;
    if (w === 0 || hgt === 0) return;
    const before = this.camera.aspect;
    this.renderer.setSize(w, hgt);
    this.camera.aspect = w / hgt;
    this.camera.updateProjectionMatrix();
    this.overlay.resize(w, hgt);
    if (Math.abs(before - this.camera.aspect) > .05 && !this.steered) this.home();
    this.rest();
  }

  private moved() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => { this.moving = false; this.rest(); }, restAfter);
    this.screen = null;
    if (!this.moving) { this.moving = true; this.lastFrame = 0; cancelAnimationFrame(this.painting); this.painting = requestAnimationFrame((t) => this.move(t)); }
  }

  /** move draws frames as long as the view moves, and adapts how many links one has. */
  private move(now: number) {
    if (!this.moving) return;
    if (this.lastFrame > 0) this.adapt(now - this.lastFrame);
    this.lastFrame = now;
    this.all.visible = false;
    this.thin.visible = true;
    this.render(true);
    this.drawn.moving++;
    this.painting = requestAnimationFrame((t) => this.move(t));
  }

  private slow = 0;
  private adapt(ms: number) {
    this.slow = .7 * this.slow + .3 * ms;
    const n = this.sorted.length;
    const next = this.slow > 36 ? Math.max(1500, this.budget * .7) : this.slow < 20 && this.slow > 0 ? Math.min(n, this.budget * 1.3) : this.budget;
    if (Math.floor(next) === Math.floor(this.budget) || this.budget >= n && next >= n) return;
    this.budget = next;
    this.slow = 26;
    this.thinOut();
  }

  /** rest draws all links over what was drawn while moving, a slice at a time, and on top what matters most. */
  private rest() {
    cancelAnimationFrame(this.painting);
    if (!this.frame || this.element.clientWidth === 0) return;
    const n = 2 * this.lattice.link.length;
    let at = 0;
    const begins = !this.element.dataset.painted && n > 8 * sliceSegments;
    if (begins) this.begin();
    const step = () => {
      const count = Math.min(n - at, 2 * sliceSegments), last = at + count >= n;
      this.all.visible = true;
      this.thin.visible = false;
      this.all.geometry.setDrawRange(at, count);
      this.only(!last);
      this.render(at === 0 && !begins);
      at += count;
      if (!last) { this.painting = requestAnimationFrame(step); return; }
      this.all.geometry.setDrawRange(0, Infinity);
      this.drawn.rest++;
      this.element.dataset.painted = String(this.drawn.rest);
    };
    if (begins) this.painting = requestAnimationFrame(step); else step();
  }

  /** begin draws the first picture of a large fabric, with the thinned lattice: the rest follows. */
  private begin() {
    this.all.visible = false;
    this.thin.visible = true;
    this.only(true);
    for (const h of this.hulls) h.edge.visible = true;
    this.render(true);
    this.element.dataset.painted = "0";
  }

  /** only hides what is drawn last, while the links are drawn in slices. */
  private only(links: boolean) {
    if (this.hot) this.hot.visible = !links;
    for (const h of this.hulls) h.face.visible = h.edge.visible = !links;
  }

  /** simplify leaves out what costs most while the view moves on a machine without a graphics card: thick lines and faces. The hot links are among the thin ones, and the hulls have their edges. */
  private simplify() {
    if (this.hot) this.hot.visible = !this.lean;
    for (const h of this.hulls) { h.face.visible = !this.lean; h.edge.visible = true; }
  }

  private render(clear: boolean) {
    if (this.moving) this.simplify();
    this.renderer.setClearColor(colours().ground, 1);
    if (clear) this.renderer.clear();
    this.renderer.render(this.scene, this.camera);
    this.overlay.draw(this.frame, this.hulls.map((h) => h.hull));
    this.element.dataset.links = String(this.thin.visible ? this.thin.geometry.drawRange.count / 2 : this.lattice.link.length);
  }

  /** project gives the ends of all segments in pixels. */
  private project(): Float32Array {
    if (this.screen) return this.screen;
    const { ends } = this.lattice, out = this.screen = new Float32Array(ends.length / 3 * 2), w = this.element.clientWidth, hgt = this.element.clientHeight;
    this.camera.updateMatrixWorld();
    const m = this.camera.projectionMatrix.clone().multiply(this.camera.matrixWorldInverse).elements;
    for (let i = 0; i < ends.length / 3; i++) {
      const x = ends[3 * i], y = ends[3 * i + 1], z = ends[3 * i + 2], d = m[3] * x + m[7] * y + m[11] * z + m[15];
      out[2 * i] = d <= 0 ? NaN : ((m[0] * x + m[4] * y + m[8] * z + m[12]) / d + 1) / 2 * w;
      out[2 * i + 1] = (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / d) / 2 * hgt;
    }
    return out;
  }

  /** at is the link under a point: of several the hottest, roughly. */
  at(px: number, py: number): Selection {
    const s = this.project(), { link } = this.lattice, heat = this.frame?.scale.heat;
    let best = -1, score = Infinity;
    for (let i = 0; i < link.length; i++) {
      const x1 = s[4 * i], y1 = s[4 * i + 1], dx = s[4 * i + 2] - x1, dy = s[4 * i + 3] - y1;
      const t = Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / (dx * dx + dy * dy || 1))), far = Math.hypot(px - x1 - t * dx, py - y1 - t * dy);
      if (!(far < 7)) continue;
      const own = far / 7 - (heat ? heat[link[i]] / 255 * 1.5 : 0);
      if (own < score) { score = own; best = i; }
    }
    return best < 0 ? null : { link: link[best] };
  }

  private listen() {
    const e = this.renderer.domElement;
    let down: [number, number] | null = null;
    e.addEventListener("pointerdown", (ev) => { down = [ev.clientX, ev.clientY]; });
    e.addEventListener("pointermove", (ev) => { if (ev.buttons === 0 && !this.moving) { const b = e.getBoundingClientRect(); this.pointing.over(this.at(ev.clientX - b.left, ev.clientY - b.top), ev.clientX - b.left, ev.clientY - b.top); } });
    e.addEventListener("pointerup", (ev) => {
      if (!down || Math.abs(ev.clientX - down[0]) + Math.abs(ev.clientY - down[1]) > 4) return;
      const b = e.getBoundingClientRect();
      this.pointing.pick(this.at(ev.clientX - b.left, ev.clientY - b.top));
    });
    e.addEventListener("pointerleave", () => this.pointing.over(null, 0, 0));
    e.addEventListener("webglcontextrestored", () => this.rest()); // the driver was reset, and the picture is lost
  }
}

/** fill writes the vertices of every step-th of some segments into an index, from a place on; it returns the next place. */
function fill(into: Uint32Array, segments: Uint32Array, from: number, step: number): number {
  for (let k = 0; k < segments.length; k += step) { into[2 * from] = 2 * segments[k]; into[2 * from + 1] = 2 * segments[k] + 1; from++; }
  return from;
}
