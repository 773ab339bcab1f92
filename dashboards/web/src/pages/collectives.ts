// Collectives of jobs that were diagnosed: what each cost, and of one a timeline of ranks by time with the critical path,
// its culprits, and the congestion regions that its flows crossed.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { h, svg } from "../dom.ts";
import { count, iso, many, share, span, sure, when, words } from "../format.ts";
import type { Collective, CollectiveRun } from "../types.ts";

const refreshMillis = 60_000;
let asked = 0;
const picked = h("section", { class: "collective", attrs: { tabindex: "-1", "aria-label": "collective" } });
const list = h("div", null);

export function collectivesPage(app: App, into: HTMLElement) {
  const api = app.model?.api;
  if (!api) return;
  const { range, key, said } = windowOf(app);
  if (into.dataset.page === "collectives" && list.dataset.fabric === api.name && list.dataset.window === key && Date.now() - asked < refreshMillis) { showRun(app); return; }
  asked = Date.now();
  list.dataset.window = key;
  if (list.dataset.fabric !== api.name) {
    picked.dataset.run = "";
    picked.replaceChildren();
    list.replaceChildren(h("p", null, "loading"));
  }
  list.dataset.fabric = api.name;
  if (into.dataset.page !== "collectives") into.replaceChildren(h("h2", null, "Collectives"), picked, list);
  into.dataset.page = "collectives";
  showRun(app);
  api.collectives(range).then((found) => {
    if (list.dataset.fabric === api.name && list.dataset.window === key) list.replaceChildren(...listed(app, found, said));
  }).catch((e) => {
    if (!isAbort(e)) list.replaceChildren(h("p", { class: "Medium" }, (e as Error).message));
  });
}

const week = 7 * 86_400_000;

/** windowOf is the part of the past that is listed: what the time strip shows if its length was chosen, or else the week before the instant that is shown. */
function windowOf(app: App): { range: { from?: number; to?: string }; key: string; said: string } {
  const past = app.model!.past.history, end = app.state.at && (app.model?.interval?.now.interval.end ?? app.state.at);
  const until = !app.state.span ? end : app.state.at || app.state.until ? iso(past.to) : "", length = app.state.span ? past.to - past.from : week;
  const said = until ? `${span(length / 1000)} before ${when(until)}` : `last ${span(length / 1000)}`;
  return { range: until ? { from: Date.parse(until) - length, to: until } : app.state.span ? { from: past.from } : {}, key: `${Math.round(length / 60_000)} ${until}`, said };
}

/** head is the names of columns, those of numbers with a "#" before them. */
const head = (...names: string[]) => h("thead", null, h("tr", null, ...names.map((n) => n.startsWith("#") ? h("th", { class: "number" }, n.slice(1)) : h("th", null, n))));
const wide = (table: HTMLElement) => h("div", { class: "wide" }, table);
const ms = (nanos: number) => `${(nanos / 1e6).toPrecision(3)} ms`;
const most = 500, mostAsked = 1000; // that are listed, and that the server gives

function listed(app: App, list: Collective[], said: string): HTMLElement[] {
  if (!list.length) return [h("p", null, `No diagnosed collective ran in the ${said}. `, h("code", null, "giverny collective publish --job ID DIR"), " diagnoses the records of a job's collectives and sends the result here.")];
  const slow = list.filter((c) => c.culprits.length > 0).length;
  const rows = list.slice(0, most).map((c) => {
    const worst = c.culprits[0];
    return h("tr", null,
      h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.go({ run: c.run_id }, true) } }, c.job_id)), h("td", null, when(c.begin)), h("td", { class: "number" }, count(c.ranks)), h("td", { class: "number" }, count(c.iterations)),
      h("td", { class: "number" }, ms(c.makespan_ns / c.iterations)), h("td", { class: "number" }, ms(c.expected_ns / c.iterations)),
      h("td", { class: worst ? "High" : "Neg" }, worst ? `${words(worst.class)} ${worst.flow} at ${worst.object}` : c.stopped_ranks.length ? "stopped" : "none"), h("td", { class: "number" }, worst ? ms(worst.cost_ns / c.iterations) : ""));
  });
  const cut = list.length > most ? ` The newest ${most} are listed; choose a shorter time span to see the others.` : "";
  return [h("p", null, `${list.length >= mostAsked ? "The newest " : ""}${many(list.length, "run")} in the ${said}, of which ${many(slow, "has", "have")} a culprit; times are per iteration.${cut}`),
    wide(h("table", null, head("job", "began", "#ranks", "#iterations", "#makespan", "#without culprits", "worst culprit", "#its cost"), h("tbody", null, ...rows)))];
}

/** showRun shows the run that the address names, if it is not there already. */
function showRun(app: App) {
  const id = app.state.run;
  if ((picked.dataset.run ?? "") === id) return;
  picked.dataset.run = id;
  if (!id) { picked.replaceChildren(); return; }
  const close = h("button", { class: "close", attrs: { type: "button" }, on: { click: () => app.go({ run: "" }, true) } }, "Close");
  const show = (...parts: HTMLElement[]) => { if (picked.dataset.run === id) picked.replaceChildren(close, ...parts); };
  show(h("p", null, "loading"));
  picked.focus();
  picked.scrollIntoView({ block: "start" });
  app.model?.api.collective(id).then((r) => show(h("h3", null, `Job ${r.job_id}, ${when(r.begin)}`), ...runParts(app, r))).catch((e) => {
    if (!isAbort(e)) show(h("p", { class: "Medium" }, (e as Error).message));
  });
}

/** between is the range of a cost that the records leave open. */
const between = (c: { cost_range_ns?: number[] }) => c.cost_range_ns?.length === 2 ? ` (${ms(c.cost_range_ns[0])} to ${ms(c.cost_range_ns[1])})` : "";

function runParts(app: App, r: CollectiveRun): HTMLElement[] {
  const d = r.diagnosis;
  const culprits = d.culprits.map((c) => h("tr", null, h("td", { class: "High" }, words(c.class)), h("td", null, c.flow), h("td", null, c.object), h("td", { class: "number" }, ms(c.cost_ns) + between(c)), h("td", { class: "number" }, sure(c.confidence)), h("td", null, c.evidence ?? "")));
  const regions = r.regions.map((x) => h("tr", null, h("td", null, h("button", { class: "link", attrs: { type: "button" }, on: { click: () => app.go({ page: "map", region: x.region, at: x.from }, true) } }, x.name || x.region)),
    h("td", { class: x.severity }, x.severity), h("td", { class: "number" }, ms(x.per_iteration_ns)), h("td", { class: "number" }, count(x.flows)), h("td", { class: "number" }, share(x.share)), h("td", null, x.text)));
  return [...d.text.split("\n").filter(Boolean).slice(0, 1).map((t) => h("p", null, t)), timeline(r),
    ...culprits.length ? [wide(h("table", null, h("caption", null, "Culprits"), head("class", "flow", "at", "#cost", "#confidence", "evidence"), h("tbody", null, ...culprits)))] : [h("p", { class: "Neg" }, "No culprit: the steps take as long as expected.")],
    ...regions.length ? [wide(h("table", null, h("caption", null, "Congestion regions that its flows crossed"), head("region", "severity", "#cost per iteration", "#flows", "#share of paths", ""), h("tbody", null, ...regions)))] : [h("p", null, "Its flows crossed no congestion region.")],
    ...(d.notes ?? []).map((n) => h("p", null, n))];
}

/** roundStep parts a length into steps of 1, 2 or 5 times a power of ten, as many as there may be. */
function roundStep(length: number, most: number): number {
  const decade = 10 ** Math.floor(Math.log10(length / most));
  return [1, 2, 5, 10].map((n) => n * decade).find((step) => length / step <= most) ?? length;
}

/** timeline is a row per rank and a box per step of one iteration; the critical path goes over them, by kind of segment. */
function timeline(r: CollectiveRun): HTMLElement {
  const t = r.timeline, row = 16, left = 92, width = 1000, bottom = 22;
  const length = Math.max(1, t.end_ns - t.begin_ns), height = row * Math.max(1, t.ranks.length) + bottom;
  const x = (ns: number) => left + (ns - t.begin_ns) / length * (width - left - 4);
  const rows = new Map(t.ranks.map((rank, i) => [rank, i]));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "timeline", "aria-label": `steps of ${t.ranks.length} ranks over ${ms(length)}, with the critical path` });
  t.ranks.forEach((rank, i) => picture.append(svg("text", { x: 2, y: row * i + 12 }, `${rank} ${r.hosts[rank]?.[0] ?? ""}`.slice(0, 15))));
  const box = (at: number, begin: number, end: number, name: string, about: string) => {
    const e = svg("rect", { x: x(begin).toFixed(2), y: row * at + 2, width: Math.max(.3, x(end) - x(begin)).toFixed(2), height: row - 4, class: name });
    e.append(svg("title", {}, about));
    picture.append(e);
  };
  t.row.forEach((at, i) => box(at, t.step_begin_ns[i], t.step_end_ns[i], "step", `rank ${t.ranks[at]} step ${t.step[i]}: ${ms(t.step_end_ns[i] - t.step_begin_ns[i])}`));
  for (const s of r.diagnosis.critical_path) {
    const at = rows.get(s.rank);
    if (at !== undefined && (s.iteration ?? 0) === t.iteration) box(at, s.begin_ns, s.end_ns, `critical ${s.kind}`, `critical path: rank ${s.rank} step ${s.step}, ${s.kind}, ${ms(s.end_ns - s.begin_ns)}`);
  }
  const step = roundStep(length, 8);
  for (let at = 0; at <= length; at += step) {
    const mark = x(t.begin_ns + at);
    picture.append(svg("text", { x: mark, y: height - 6, "text-anchor": mark > width - 40 ? "end" : at ? "middle" : "start" }, `${Number((at / 1e6).toPrecision(6))} ms`));
  }
  const scroll = h("div", { class: "wide" });
  scroll.append(picture);
  const figure = h("figure", null, scroll);
  const left_out = [t.omitted ? `${many(t.omitted, "step")} left out` : "", r.segments > r.diagnosis.critical_path.length ? `${count(r.diagnosis.critical_path.length)} of ${count(r.segments)} segments of the critical path` : ""].filter(Boolean);
  figure.append(h("figcaption", null, `Steps of iteration ${t.iteration + 1}, ranks by time. Critical path: transfers in red, the rank's own time in violet, waits for unrecorded events in yellow.${left_out.length ? " " + left_out.join("; ") + "." : ""}`));
  return figure;
}
