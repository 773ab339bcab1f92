// A region's stall over time beside the traffic of the job that is accused (Monet, Fig. 11).
import uPlot from "uplot";
import type { OfFabric } from "../api.ts";
import { colours } from "../colour.ts";
import { h } from "../dom.ts";
import { amount, words } from "../format.ts";
import { timeAxis } from "../time/past.ts";
import type { Diagnosis, JobTraffic } from "../types.ts";

const height = 160; // pixels
/** percentAxis is the width of an axis with "100%" on it, in pixels: the text, a gap of 5 and ticks of 10. */
export const percentAxis = 48;
const refresh = 3000; // ms between two questions about the same region while it lives
// mostPoints bounds how far back a region that is old is plotted.
const mostPoints = 3000;

export class RegionPlot {
  private chart: uPlot | null = null;
  private shown = "";
  private asked = 0;
  private readonly watch: ResizeObserver;

  constructor(private readonly into: HTMLElement) {
    this.watch = new ResizeObserver(() => this.chart?.setSize({ width: this.into.clientWidth, height }));
    this.watch.observe(into);
  }

  /** none shows no plot, until the next question about this region is due. */
  none() {
    this.chart?.destroy();
    this.chart = null;
    this.into.replaceChildren();
  }

  clear() {
    this.shown = "";
    this.none();
  }

  /** show plots a region until a time; mark is the instant that is shown. */
  async show(api: OfFabric, region: { id: string; birth?: string }, d: Diagnosis | undefined, until: string, intervalSeconds: number) {
    const accused = d?.jobs?.[0], key = `${api.name} ${region.id} ${accused?.job_id ?? ""} ${accused?.feature ?? ""}`;
    if (key === this.shown && (Date.now() - this.asked < refresh)) return;
    this.asked = Date.now();
    if (key !== this.shown) this.clear();
    this.shown = key;
    const end = Date.parse(until) + 1000 * intervalSeconds, first = end - 1000 * intervalSeconds * mostPoints;
    const answer = await api.track(region.id, { from: Math.max(first, region.birth ? Date.parse(region.birth) : first), to: end });
    if (this.shown !== key || answer.intervals.length < 2) return; // one point is no course
    const times = answer.intervals.map((i) => Date.parse(i.time) / 1000), stall = answer.intervals.map((i) => i.region.mean);
    const traffic = accused ? (await api.traffic(accused.job_id, { from: Date.parse(answer.from) - 10_000 * intervalSeconds, to: end }).catch(() => null))?.traffic ?? [] : [];
    if (this.shown !== key) return;
    this.draw(times, stall, accused ? { name: words(keyOf(accused.feature)), job: accused.job_id, feature: accused.feature, points: traffic } : null);
  }

  private draw(times: number[], stall: number[], factor: { name: string; job: string; feature: string; points: JobTraffic["traffic"] } | null) {
    const p = colours(), points = (factor?.points ?? []).map((t) => [Date.parse(t.time) / 1000, t[keyOf(factor!.feature)] ?? null] as const);
    const hasFactor = points.some(([, v]) => v !== null);
    const data = hasFactor ? uPlot.join([[times, stall], [points.map(([t]) => t), points.map(([, v]) => v) as number[]]] as unknown as uPlot.AlignedData[]) : [times, stall] as uPlot.AlignedData;
    const axis = { stroke: p.faint, grid: { stroke: p.edge, width: 1 }, ticks: { stroke: p.edge, width: 1 }, font: "11px system-ui, sans-serif" };
    const options: uPlot.Options = {
      width: Math.max(120, this.into.clientWidth), height, legend: { show: false }, cursor: { show: false }, padding: [8, hasFactor ? 4 : 14, 0, 0],
      scales: { x: { time: true }, stall: { range: (_, __, max) => [0, Math.max(10, max * 1.1)] }, factor: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      series: [{}, { scale: "stall", stroke: p.severity.High, width: 2, spanGaps: true, points: { show: times.length < 3 } }, ...hasFactor ? [{ scale: "factor", stroke: p.severity.Low, width: 1.5, dash: [5, 3], spanGaps: true, points: { show: false } }] : []],
      axes: [{ ...axis, ...timeAxis, size: 30 }, { ...axis, scale: "stall", size: percentAxis, values: (_, list) => list.map((v) => v + "%") },
        ...hasFactor ? [{ ...axis, scale: "factor", side: 1 as const, size: 54, grid: { show: false }, values: (_: uPlot, list: number[]) => list.map((v) => amount("bytes", v)) }] : []],
    };
    this.chart?.destroy();
    const text = hasFactor ? `${factor!.name} of job ${factor!.job}, per interval` : "";
    const keys = h("div", { class: "legend" }, h("span", null, h("i", { class: "key stall" }), "mean stall of the region"), text ? h("span", null, h("i", { class: "key factor" }), text) : null);
    const host = h("div", { attrs: { role: "img", "aria-label": `mean stall of the region over time, now ${stall.at(-1)!.toFixed(1)}%${text ? ", beside the " + text : ""}` } });
    this.into.replaceChildren(keys, host);
    this.chart = new uPlot(options, data, host);
  }
}

const measured = ["read_bytes", "write_bytes", "rdma_read_bytes", "rdma_write_bytes"] as const;

/** keyOf is the measured traffic that a feature is made of: the patterns are read off what is written by RDMA. */
const keyOf = (feature: string) => measured.find((m) => m === feature) ?? "rdma_write_bytes";
