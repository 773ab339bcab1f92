// Hosts that were probed inside (Hostping): what each one's newest run came to, and of one its graph, with the
// accused link in red, and the matrix of its pairs as a heatmap.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { count, many, span, when, words } from "../format.ts";
import type { HostGraph, HostReport, HostRun } from "../types.ts";

const svgSpace = "http://www.w3.org/2000/svg";

export function svg(tag: string, attrs: Record<string, string | number>, text = ""): SVGElement {
  const e = document.createElementNS(svgSpace, tag);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, String(v));
  if (text) e.textContent = text;
  return e;
}

/** probedHosts lists the hosts, those with a verdict first; one that is picked fills `into`. */
export function probedHosts(app: App, hosts: HostRun[], into: HTMLElement): HTMLElement[] {
  if (!hosts.length) return [h("p", null, "No host was probed inside in the last 7 days. ", h("code", null, "giverny hostping launch --host NAME --dry-run"), " says what probing one would do.")];
  const slow = hosts.filter((r) => r.verdicts.length > 0).length;
  const rows = hosts.slice(0, 500).map((r) => h("tr", null,
    h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => showHost(app, r, into) } }, r.agent ?? "")),
    h("td", null, when(r.time)), h("td", null, words(r.state)), h("td", null, words(r.trigger)), h("td", { class: "number" }, count(r.probes)), h("td", { class: "number" }, span(r.seconds)),
    h("td", { class: r.verdicts.length ? "High" : "Neg" }, r.sentence ?? "")));
  return [h("p", null, `${many(hosts.length, "host")} probed inside, ${many(slow, "has", "have")} a bottleneck there.`),
    h("table", null, h("thead", null, h("tr", null, ...["host", "probed", "state", "called for by", "probes", "time", "outcome"].map((n) => h("th", null, n)))), h("tbody", null, ...rows)), into];
}

function showHost(app: App, run: HostRun, into: HTMLElement) {
  into.dataset.host = run.agent ?? "";
  into.replaceChildren(h("h3", null, run.agent ?? ""), h("p", null, "loading"));
  app.model?.api.host(run.agent ?? "", run.run_id).then((r) => {
    if (into.dataset.host === run.agent) into.replaceChildren(...hostParts(r));
  }).catch((e) => {
    if (!isAbort(e)) into.replaceChildren(h("h3", null, run.agent ?? ""), h("p", { class: "Medium" }, (e as Error).message));
  });
}

function hostParts(r: HostReport): HTMLElement[] {
  const accused = new Set(r.report.verdicts.flatMap((v) => [v.link, v.link ? "" : v.rnic]).filter(Boolean));
  const verdicts = r.report.verdicts.map((v) => h("p", { class: "High" }, `${words(v.bottleneck)}, ${Math.round(100 * v.confidence)}% sure: ${v.text}`));
  const missing = r.report.unmeasured.map((u) => h("li", null, `${u.rnic} to ${u.endpoint}: ${u.reason}`));
  return [h("h3", null, r.run.agent ?? ""), h("p", null, r.run.sentence ?? ""), ...verdicts,
    drawing(r.graph, accused), heatmap(r), ...r.report.notes.map((n) => h("p", null, n)),
    ...missing.length ? [h("p", null, "Not measured:"), h("ul", null, ...missing)] : []];
}

/** layers put each vertex below the one that leads to a socket. */
function layers(g: HostGraph): { at: Map<string, { x: number; y: number }>; width: number; height: number } {
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
  const roots = [...new Set(g.links.flatMap((l) => l.kind === "inter_socket" ? [l.a, l.b] : [l.a]))].filter((id) => !lower.has(id)).sort();
  roots.forEach((id) => place(id, 0));
  return { at, width: Math.max(1, leaves), height: deepest + 1 };
}

/** drawing is the graph: sockets on top, accused links in red. */
function drawing(g: HostGraph, accused: Set<string>): HTMLElement {
  const { at, width, height } = layers(g);
  const dx = 72, dy = 64, pad = 40;
  const px = (id: string) => pad + (at.get(id)?.x ?? 0) * dx, py = (id: string) => pad + (at.get(id)?.y ?? 0) * dy;
  const picture = svg("svg", { viewBox: `0 0 ${2 * pad + (width - 1) * dx} ${2 * pad + (height - 1) * dy}`, role: "img", class: "host-graph", "aria-label": "links of the host" });
  const classes = (id: string) => accused.has(id) ? "accused" : "";
  for (const l of g.links) {
    const line = l.kind === "inter_socket"
      ? svg("path", { d: `M${px(l.a)},${py(l.a)} Q${(px(l.a) + px(l.b)) / 2},${pad - 34} ${px(l.b)},${py(l.b)}`, fill: "none", class: classes(l.id) })
      : svg("line", { x1: px(l.a), y1: py(l.a), x2: px(l.b), y2: py(l.b), class: classes(l.id) });
    line.append(svg("title", {}, `${l.id}, ${words(l.kind)}${accused.has(l.id) ? ": accused" : ""}`));
    picture.append(line);
  }
  const rnics = new Set(g.rnics.map((r) => r.id));
  for (const id of at.keys()) {
    const kind = rnics.has(id) ? "rnic" : g.endpoints.find((e) => e.id === id)?.kind ?? "inner";
    const node = svg("circle", { cx: px(id), cy: py(id), r: kind === "inner" ? 4 : 8, class: `${kind} ${classes(id)}` });
    node.append(svg("title", {}, id));
    picture.append(node, svg("text", { x: px(id), y: py(id) + 22, "text-anchor": "middle" }, id));
  }
  const figure = h("figure", null);
  figure.append(picture);
  return figure;
}

/** heatmap is each pair's rate as a share of its baseline; the text says it too. */
function heatmap(r: HostReport): HTMLElement {
  const cells = new Map(r.report.matrix.map((c) => [c.rnic + " " + c.endpoint, c]));
  const endpoints = r.graph.endpoints.map((e) => e.id);
  const rows = r.graph.rnics.map((n) => h("tr", null, h("th", null, n.id), ...endpoints.map((e) => {
    const c = cells.get(n.id + " " + e);
    if (!c) return h("td", { class: "number Neg" }, "");
    const share = c.baseline_gbps > 0 ? c.gbps / c.baseline_gbps : 1;
    const cell = h("td", { class: "number", title: `${n.id} to ${e}: ${c.gbps.toFixed(1)} of ${c.baseline_gbps.toFixed(1)} Gb/s, ${c.latency_us.toFixed(2)} of ${c.baseline_latency_us.toFixed(2)} us` }, `${Math.round(100 * share)}%`);
    cell.style.background = `color-mix(in srgb, #d73027 ${Math.round(100 * Math.min(1, Math.max(0, (1 - share) * 2)))}%, transparent)`;
    return cell;
  })));
  return h("table", { class: "host-matrix" }, h("caption", null, "Loopback rate of each pair, percent of its baseline"),
    h("thead", null, h("tr", null, h("th", null, ""), ...endpoints.map((e) => h("th", null, e)))), h("tbody", null, ...rows));
}
