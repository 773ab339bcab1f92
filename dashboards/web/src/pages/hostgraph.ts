// The inside of a host as a tree: sockets on top, below them memory nodes, switches, RNICs and GPUs, and the buses
// between sockets above; accused links are red, thick and named.
import { h, svg } from "../dom.ts";
import { words } from "../format.ts";
import type { HostGraph } from "../types.ts";

interface Layout { at: Map<string, { x: number; y: number }>; roots: string[]; width: number; height: number }

/** layers put each vertex below the one that leads to a socket. */
function layers(g: HostGraph): Layout {
  const below = new Map<string, string[]>();
  const lower = new Set<string>();
  for (const l of g.links) {
    if (l.kind === "inter_socket") continue;
    below.set(l.a, [...below.get(l.a) ?? [], l.b]);
    lower.add(l.b);
  }
  const at = new Map<string, { x: number; y: number }>();
  let leaves = 0, deepest = 0;
  const place = (id: string, depth: number): number => {
    deepest = Math.max(deepest, depth);
    const known = at.get(id);
    if (known) return known.x;
    at.set(id, { x: 0, y: depth });
    const xs = (below.get(id) ?? []).map((b) => place(b, depth + 1));
    const x = xs.length ? (Math.min(...xs) + Math.max(...xs)) / 2 : leaves++;
    at.set(id, { x, y: depth });
    return x;
  };
  const natural = new Intl.Collator("en", { numeric: true }).compare;
  const roots = [...new Set(g.links.flatMap((l) => l.kind === "inter_socket" ? [l.a, l.b] : [l.a]))].filter((id) => !lower.has(id)).sort(natural);
  roots.forEach((id) => place(id, 0));
  return { at, roots, width: Math.max(1, leaves), height: deepest + 1 };
}

/** centre scrolls drawings so that the accused link is in sight. */
export function centre(into: HTMLElement) {
  for (const e of into.querySelectorAll<HTMLElement>("figure[data-at]")) e.scrollLeft = Number(e.dataset.at) - e.clientWidth / 2;
}

/** short is a name that fits between two neighbours: of a switch what its bus id ends with. */
function short(id: string): string {
  const name = id.replace(/^switch-(0000:)?/, "");
  return name.length > 12 ? name.slice(0, 11) + "…" : name;
}

/** drawing is the graph: sockets on top, accused links in red. It keeps its size, and scrolls where there is less room. */
export function drawing(g: HostGraph, accused: Set<string>): HTMLElement {
  const { at, roots, width, height } = layers(g);
  const dx = 66, dy = 66, pad = 40;
  // A bus between sockets that are not neighbours passes above those between them.
  const apart = (a: string, b: string) => Math.max(1, Math.abs(roots.indexOf(a) - roots.indexOf(b)));
  const buses = g.links.filter((l) => l.kind === "inter_socket");
  const top = pad + 26 * Math.max(0, ...buses.map((l) => apart(l.a, l.b)));
  const px = (id: string) => pad + (at.get(id)?.x ?? 0) * dx, py = (id: string) => top + (at.get(id)?.y ?? 0) * dy;
  const w = 2 * pad + (width - 1) * dx, tall = top + pad + (height - 1) * dy;
  const named = [...accused].join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${w} ${tall}`, width: w, height: tall, role: "img", class: "host-graph", "aria-label": `links of the host; ${named ? "accused: " + named : "none accused"}` });
  const names = svg("g", {});
  for (const l of [...g.links].sort((a, b) => Number(accused.has(a.id)) - Number(accused.has(b.id)))) {
    const x1 = px(l.a), y1 = py(l.a), x2 = px(l.b), y2 = py(l.b), bus = l.kind === "inter_socket", high = 52 * apart(l.a, l.b);
    const kind = `${l.kind} ${accused.has(l.id) ? "accused" : ""}`;
    const line = bus ? svg("path", { d: `M${x1},${y1} Q${(x1 + x2) / 2},${y1 - high} ${x2},${y2}`, fill: "none", class: kind }) : svg("line", { x1, y1, x2, y2, class: kind });
    line.append(svg("title", {}, `${l.id}, ${words(l.kind)}${accused.has(l.id) ? ": accused" : ""}`));
    picture.append(line);
    if (accused.has(l.id)) names.append(svg("text", { x: (x1 + x2) / 2, y: bus ? y1 - high / 2 - 6 : (y1 + y2) / 2 + 4, "text-anchor": "middle", class: "accused" }, "!"));
  }
  const rnics = new Set(g.rnics.map((r) => r.id)), kinds = new Map(g.endpoints.map((e) => [e.id, e.kind]));
  const above = new Map(g.links.filter((l) => l.kind !== "inter_socket").map((l) => [l.b, px(l.a)]));
  for (const id of at.keys()) {
    const kind = rnics.has(id) ? "rnic" : kinds.get(id) ?? "inner";
    const node = svg("circle", { cx: px(id), cy: py(id), r: kind === "inner" ? 5 : 9, class: `${kind} ${accused.has(id) ? "accused" : ""}` });
    node.append(svg("title", {}, id));
    const root = at.get(id)?.y === 0, right = (above.get(id) ?? 0) <= px(id); // a switch is named beside its uplink
    picture.append(node, svg("text", kind === "inner" && !root ? { x: px(id) + (right ? 9 : -9), y: py(id) - 6, "text-anchor": right ? "start" : "end" }
      : { x: px(id), y: root ? py(id) - 12 : py(id) + 24, "text-anchor": "middle" }, short(id)));
  }
  picture.append(names);
  const figure = h("figure", { class: "wide", attrs: { tabindex: "0", role: "group", "aria-label": "graph of the host" } });
  figure.append(picture);
  const first = g.links.find((l) => accused.has(l.id));
  if (first) figure.dataset.at = String((px(first.a) + px(first.b)) / 2);
  if (g.assumed.length) figure.append(h("figcaption", null, `Assumed: ${g.assumed.join("; ")}.`));
  return figure;
}
