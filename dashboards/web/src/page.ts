// The page's state: which fabric, interval and place are shown. Everything that the address
// holds changes here; the parts draw what they are given.
import type { App } from "./app.ts";
import { Problem, fabrics, follow, isAbort, signIn } from "./api.ts";
import { changeLimit, changeScale, stallScale, type Frame, type Selection } from "./map/frame.ts";
import { Mapper, say } from "./map/mapper.ts";
import { drawChangeLegend, drawLegend, jobColour, rank, useTheme } from "./colour.ts";
import { Controls } from "./time/controls.ts";
import { $, h, setText } from "./dom.ts";
import { Find } from "./find.ts";
import { clock, metricName, unknownReason, unknownTodo } from "./format.ts";
import { Model } from "./model.ts";
import { Side } from "./panel/side.ts";
import { once } from "./panel/twins.ts";
import { showPage } from "./pages/pages.ts";
import { Sharing } from "./share.ts";
import { tipOf } from "./tip.ts";
import type { FabricSummary, Region } from "./types.ts";
import { jobsOf, read, write, type ViewState } from "./url.ts";

export class Page implements App {
  state: ViewState = read();
  fabrics: FabricSummary[] = [];
  model: Model | null = null;
  picked = false; // the user chose the metric
  private readonly side = new Side(this);
  private readonly controls = new Controls(this);
  private readonly mapper = new Mapper($("heat"), $("layouts"), { over: (w, x, y) => this.over(w, x, y), pick: (w) => this.select(w) }, (layout) => this.go({ layout }, true));
  private readonly sharing = new Sharing(this, this.mapper);
  private connected = true;
  private refused = ""; // why the stream is not connected, in the server's words
  private metric = "";

  start() {
    this.theme();
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => { this.theme(); this.show(); });
    new Find(this);
    this.sharing.start();
    this.listen();
    this.watch();
    setInterval(() => this.tick(), 1000);
    this.notice("Giverny", "Loading the fabric");
    this.frame();
  }

  /** watch follows the stream while the page can be seen: a browser opens six connections to a server over HTTP/1.1, for all its
   *  tabs together, and the streams of six hidden ones would keep the seventh from loading. */
  private watch() {
    let stop = () => {};
    const follow = () => { stop(); stop = this.follow(); };
    document.addEventListener("visibilitychange", () => document.hidden ? stop() : follow());
    addEventListener("pagehide", () => stop());
    addEventListener("pageshow", (e) => { if (e.persisted) follow(); }); // the browser had kept the page, without its stream
    if (document.hidden) void this.choose(this.state.fabric);
    else follow();
  }

  private follow(): () => void {
    return follow({
      interval: (fabric) => { if (fabric === this.model?.fabric.name && !this.state.at) void this.refresh(); },
      open: () => { this.connected = true; this.refused = ""; this.model ? void this.refresh() : void this.choose(this.state.fabric); },
      broken: (why) => {
        const news = this.connected || why !== this.refused;
        this.connected = false;
        this.refused = why;
        this.side.status();
        if (news) this.paint();
        if (!this.model) void this.choose(this.state.fabric);
      },
    });
  }

  private listen() {
    $("fabric").addEventListener("change", () => { this.go({ fabric: $<HTMLSelectElement>("fabric").value, metric: "", region: "", select: "", at: "", compare: "", layout: "", job: "", from: "", to: "", until: "", run: "" }, true); void this.choose(this.state.fabric); });
    $("metric").addEventListener("change", () => { this.picked = true; this.go({ metric: $<HTMLSelectElement>("metric").value }); });
    $("least").addEventListener("change", () => { this.go({ least: $<HTMLSelectElement>("least").value }); void this.refresh(); });
    $("theme").addEventListener("click", () => { localStorage.setItem("giverny.theme", document.documentElement.classList.contains("light") ? "dark" : "light"); this.theme(); this.show(); });
    $("in").addEventListener("click", () => this.mapper.zoom(1.3));
    $("out").addEventListener("click", () => this.mapper.zoom(1 / 1.3));
    $("fit").addEventListener("click", () => this.mapper.reset());
    addEventListener("popstate", () => { const before = this.state.fabric; this.state = read(); if (this.state.fabric !== before) void this.choose(this.state.fabric); else { this.show(); void this.refresh(); } });
    addEventListener("keydown", (e) => {
      if (e.target instanceof Element && e.target.closest("input, select, dialog") || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "/") { e.preventDefault(); $("find").focus(); }
      if (e.key === "Escape") this.select(null);
      if (e.key === "l") this.live();
    });
    $("login").addEventListener("close", () => void this.signIn());
  }

  private async signIn() {
    const field = $<HTMLInputElement>("token"), token = field.value;
    field.value = "";
    if (!token) return; // the dialog was left: it comes back with the next request that is refused
    try {
      await signIn(token);
      await this.choose(this.state.fabric);
    } catch (e) {
      setText($("loginwhy"), "Sign-in failed: " + (e as Error).message);
      $<HTMLDialogElement>("login").showModal();
    }
  }

  /** theme is the one chosen by the button, or else that of the system. */
  private theme() {
    const light = (localStorage.getItem("giverny.theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark")) === "light";
    document.documentElement.classList.toggle("light", light);
    useTheme(light ? "light" : "dark");
    setText($("theme"), light ? "Dark" : "Light");
    this.legend();
  }

  go(change: Partial<ViewState>, step = false) {
    Object.assign(this.state, change);
    const address = write(this.state);
    if (step) history.pushState(null, "", address); else history.replaceState(null, "", address);
    this.show();
  }

  async choose(name: string) {
    const before = this.model;
    before?.close();
    this.model = null;
    try {
      const list = await fabrics();
      if (this.model !== null) return; // another was chosen meanwhile
      this.fabrics = list;
      if (name && name !== this.state.fabric) return;
      const summary = name ? list.find((f) => f.name === name) : list[0];
      if (!summary && list.length) { this.missing(name, list); return; }
      if (!summary) { this.notice("No fabric", "No fabric is configured. Add one under fabrics in the configuration file, and restart Giverny."); return; }
      this.model = new Model(summary);
      this.picked = this.state.metric !== "";
      if (this.state.fabric !== summary.name) { this.state.fabric = summary.name; history.replaceState(null, "", write(this.state)); }
      $("fabric").replaceChildren(...list.map((f) => new Option(f.name, f.name, false, f.name === summary.name)));
      this.mapper.clear();
      await this.refresh();
    } catch (e) { this.fail(e); }
  }

  /** missing offers the other fabrics: those of an old address are not silently replaced by another one's picture. */
  private missing(name: string, list: FabricSummary[]) {
    const none = new Option("", "", true, true);
    none.hidden = true;
    $("fabric").replaceChildren(none, ...list.map((f) => new Option(f.name, f.name)));
    this.go({ page: "map" }); // where the notice is
    setText($("status"), "no fabric " + name);
    this.notice(`No fabric ${name}`, `The address names a fabric that is not configured here. Choose one at the top: ${list.map((f) => f.name).join(", ")}.`);
  }

  async refresh(): Promise<void> {
    const model = this.model;
    if (!model) return;
    try {
      do {
        const s = this.state;
        if (!await model.refresh(s)) return;
        if (model !== this.model) return;
        this.show();
        void model.askNames(model.jobs, model.interval).then((found) => { if (found && model === this.model) this.show(); }).catch((e) => { if (!isAbort(e)) console.warn(e); });
      } while (model.takeAgain());
    } catch (e) { if (model === this.model) this.fail(e); }
  }

  /** fail shows what went wrong: over the map if there is one, instead of it if there is none. */
  private fail(e: unknown) {
    if (isAbort(e)) return;
    const p = e instanceof Problem ? e : null, text = e instanceof Error ? e.message : String(e);
    if (!p) console.error(e);
    this.side.trouble(text);
    if (p?.status === 401 || p?.status === 403) {
      setText($("loginwhy"), p.status === 401 ? "This server requires a token. Paste the one that you were given." : "This token is not allowed to do this: " + text);
      const dialog = $<HTMLDialogElement>("login");
      if (!dialog.open) dialog.showModal();
      return;
    }
    if (!this.model?.interval) this.notice(p?.status === 0 ? "Not connected" : "Request failed", text);
  }

  private noticed = "";
  /** notice says over the whole map why it is empty; an empty title shows the map. */
  notice(title: string, text = "", over = false) {
    const n = $("notice"), key = title + "|" + text + over;
    if (key === this.noticed) return;
    this.noticed = key;
    n.hidden = title === "";
    n.classList.toggle("over", over);
    n.replaceChildren(...title ? [h("b", null, title), h("p", null, text)] : []);
  }

  metricShown(): string {
    const i = this.model?.interval;
    if (!i) return "";
    const metrics = Object.keys(i.values), severity = (m: string) => rank(i.now.states.find((s) => s.metric === m)?.severity ?? "Neg");
    if (this.picked && metrics.includes(this.state.metric)) return this.state.metric;
    const shown = this.region()?.metric ?? "", first = metrics.includes(shown) ? shown : metrics[0] ?? ""; // of metrics that are as bad that of the region that is shown
    const worst = metrics.reduce((a, b) => severity(b) > severity(a) ? b : a, first);
    return metrics.includes(this.metric) && severity(this.metric) === severity(worst) && !this.onlyTwins(this.metric) ? this.metric : worst;
  }

  /** onlyTwins reports whether all regions of a metric are listed as those of the other end: the map then shows that one. */
  private onlyTwins(metric: string): boolean {
    const now = this.model?.interval?.now, of = now?.regions.filter((r) => r.metric === metric) ?? [];
    return of.length > 0 && !once(now!.regions, now!.diagnoses).shown.some((r) => r.metric === metric);
  }

  regionsShown(): Region[] { const m = this.metricShown(); return this.model?.interval?.now.regions.filter((r) => r.metric === m) ?? []; }

  /** region is the chosen one or the worst, of several that are as bad one that is on the map */
  region(): Region | undefined {
    const now = this.model?.interval?.now, list = now?.regions ?? [], here = (r: Region) => Number(r.metric === (this.picked && this.state.metric || this.metric));
    return list.find((r) => String(r.id) === this.state.region) ?? [...once(list, now?.diagnoses ?? []).shown].sort((a, b) => rank(b.severity) - rank(a.severity) || here(b) - here(a) || b.mean - a.mean)[0];
  }

  chooseRegion(r: Region) {
    this.picked = true;
    this.go({ region: String(r.id ?? ""), metric: r.metric });
  }

  select(what: Selection) {
    const g = this.model?.graphInUse();
    this.go({ select: !what || !g ? "" : "link" in what ? "link:" + what.link : "device:" + g.devices[what.device].name });
  }

  selection(): Selection {
    const g = this.model?.graphInUse(), [kind, ...rest] = this.state.select.split(":"), name = rest.join(":");
    if (!g || !name) return null;
    if (kind === "link") return g.links.up[Number(name)] === undefined ? null : { link: Number(name) };
    const device = g.device(name);
    return device === undefined ? null : { device };
  }

  showAt(time: string) {
    if (time === this.state.at) return;
    this.go({ at: time });
    void this.refresh();
  }

  live() {
    this.controls.pause();
    if (this.state.until) this.go({ until: "" });
    this.showAt("");
  }

  compareWith(time: string) {
    this.go({ compare: time });
    void this.refresh();
  }

  private jobsOnMap(): Map<number, string> {
    const { model } = this, out = new Map<number, string>(), g = model?.graphInUse();
    if (!g || !this.state.job) return out;
    jobsOf(this.state).forEach((id, n) => {
      for (const node of model!.jobs.find((j) => j.job_id === id)?.nodes ?? []) { const d = g.device(node); if (d !== undefined) out.set(d, jobColour(n)); }
    });
    return out;
  }

  /** show draws all of what is known; it is called after every change. */
  show() {
    const { model, state } = this;
    this.frame();
    const page = state.page !== "map";
    $("main").classList.toggle("page", page);
    $("other").hidden = !page;
    if (page) {
      if (model?.loaded) this.side.top();
      showPage(this, $("other"));
      return;
    }
    if (!model?.loaded) return;
    const i = model.interval;
    this.metric = this.metricShown();
    this.side.show();
    this.controls.show();
    if (!i) {
      this.mapper.clear();
      if (state.at) this.notice("Nothing stored at that time", "No interval of this fabric is stored for this time or earlier.");
      else this.notice("Waiting for the first interval", `Nothing is stored for ${model.fabric.name} yet. This page updates by itself when the first interval arrives.`);
      return;
    }
    const metrics = Object.keys(i.values), select = $<HTMLSelectElement>("metric");
    if (metrics.join() !== [...select.options].map((o) => o.value).join()) select.replaceChildren(...metrics.map((m) => new Option(metricName(m), m)));
    select.value = this.metric;
    $<HTMLSelectElement>("least").value = state.least;
    this.legend();
    this.paint();
  }

  /** frame fills what stands around every page. */
  private frame() {
    const names: Record<ViewState["page"], string> = { map: "Map", jobs: "Jobs", collectives: "Collectives", hosts: "Hosts", searches: "Searches" }, nav = $("pages");
    if (!nav.firstChild) {
      for (const [page, name] of Object.entries(names)) nav.append(h("a", { data: { page }, attrs: { href: "#" }, on: { click: (e) => { e.preventDefault(); this.go({ page: page as ViewState["page"], run: "" }, true); } } }, name));
    }
    for (const a of nav.querySelectorAll<HTMLAnchorElement>("a")) {
      a.href = write({ ...this.state, page: a.dataset.page as ViewState["page"], run: "" });
      if (a.dataset.page === this.state.page) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
    }
    document.title = this.model ? `${this.model.fabric.name} \u00b7 Giverny` : "Giverny";
  }

  private legend() {
    const canvas = $("legend").querySelector("canvas")!, scale = this.changes();
    setText($("unit"), scale ? "change, in % points" : "% of time stalled");
    $("legend").title = scale ? "Share of time stalled at the later instant less that at the earlier one, in percentage points" : "";
    if (scale) drawChangeLegend(canvas, scale.css, changeLimit); else drawLegend(canvas);
  }

  /** changes is the scale of what changed between two instants of one graph, where they are compared. */
  private changes(): Frame["scale"] | null {
    const [before, after] = this.model?.compared ?? [], from = before?.values[this.metric], to = after?.values[this.metric];
    return from && to && before!.graph === after!.graph ? changeScale(from, to) : null;
  }

  paint() {
    const i = this.model?.interval;
    if (!i || this.state.page !== "map") return;
    const { state, metric } = this, values = i.values[metric] ?? new Float32Array(i.graph.size).fill(NaN);
    const regions = this.regionsShown(), pointed = this.side.pointed, g = i.graph;
    const diagnosis = this.side.diagnosis(), roots: Frame["roots"] = [];
    for (const r of regions) if (r.root) roots.push({ device: g.device(r.root.device) ?? -1, link: r.root.link ?? -1 });
    if (diagnosis?.root && diagnosis.metric === metric && roots.length === 0) roots.push({ device: g.device(diagnosis.root.device) ?? -1, link: diagnosis.root.link ?? -1 });
    const frame: Frame = {
      graph: g, values, scale: this.changes() ?? stallScale(values),
      regions, focus: pointed?.metric === metric ? pointed.id ?? null : null, selected: this.selection(), roots, jobs: this.jobsOnMap(),
    };
    void this.mapper.show(frame, state.layout, { from: state.from, to: state.to }).then(() => {
      const waiting = state.layout === "path" && this.mapper.empty;
      const strangers = [state.from, state.to].filter((name) => name && g.device(name) === undefined);
      if (waiting) this.notice("A path", strangers.length ? `This fabric has no host or switch ${strangers.join(" and no ")}. The search field finds names by a part.` : state.from && state.to ? `There is no path from ${state.from} to ${state.to} over links that are up.` : "Enter two hosts or switches above to see the shortest paths between them.");
      else this.notice(this.connected ? "" : this.refused ? "Connection refused" : "Connection lost", this.refused, true);
      document.documentElement.dataset.shown = i.now.interval.start;
    }).catch((e) => this.fail(e));
    this.sharing.pathInputs(state.layout === "path");
    say(`${metricName(metric)} at ${clock(i.now.interval.start)} UTC: ${regions.length ? regions.map((r) => `${r.severity} region ${r.name ?? r.id}, ${r.size} links, mean ${r.mean.toFixed(0)} percent`).join("; ") : "no region"}`);
  }

  private over(what: Selection, x: number, y: number) {
    const tip = $("tip"), i = this.model?.interval;
    tip.hidden = !what || !i;
    if (!what || !i) return;
    setText(tip, tipOf(what, i, this.regionsShown()));
    const box = $("stage").getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 6)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, box.height - tip.offsetHeight - 6)) + "px";
  }

  /** tick keeps the age of what is shown up to date, and asks the server again where no interval comes for some seconds: a stream can be cut without a sign of it. */
  private tick() {
    const { model } = this, why = model?.status?.network.unknown;
    if (model && !model.loaded && why) this.notice("Loading the fabric", `This takes long: ${unknownReason(why)}. ${unknownTodo(why)}`); // a store that does not answer is the state before it is an error
    if (!model?.loaded || !model.interval) return;
    if (!this.state.at && Date.now() - model.asked > 5000) void model.askStatus().then(() => { if (model === this.model) { if (model.behind) void this.refresh(); else this.side.status(); } });
    this.side.status();
  }

  get online() { return this.connected; }
  reveal = false;
}
