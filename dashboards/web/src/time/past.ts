// What the time strip shows: a window of the stored past, interval by interval where it is
// short, and by steps of the roll-ups where it is weeks or months.
import type uPlot from "uplot";
import type { OfFabric } from "../api.ts";
import { rank } from "../colour.ts";
import { clock, iso, share, span as inWords } from "../format.ts";
import type { CongestionEvent, FabricEvent, FabricSummary, NetworkStep, Severity, StateAt } from "../types.ts";

/** Slot is an interval or a step: heights are numbers of regions or shares of time, by severity. */
export interface Slot { from: number; to: number; high: number; medium: number; low: number; state: Severity | "Unknown"; text: string }
/** History is a window of the past; stepSeconds is 0 where its slots are intervals. Times are milliseconds. */
export interface History { from: number; to: number; stepSeconds: number; slots: Slot[]; events: FabricEvent[]; congestion: CongestionEvent[] }
/** Wanted is which window: seconds long or empty (the latest intervals) or "all", until an instant or (empty) the newest interval. */
export interface Wanted { at: string; span: string; until: string; least: string }

const usual = 240; // intervals on the time strip
const mostIntervals = 3000; // one by one; what is longer comes by steps
export const longest = 183 * 86_400; // seconds, within dashboards.max_span as it is by default
const day = 86_400_000;
const failures = ["link_failed", "switch_failed", "switch_silent", "node_failed", "node_silent", "link_errors", "link_flapping", "congestion_protection", "story", "graph_changed"].join(",");

export const isFailure = (kind: string) => /^(link|switch|node)_(failed|errors|flapping)$/.test(kind);
const isIncident = (kind: string) => /_failed$|^congestion_began$|^congestion_protection$/.test(kind);

const ofInterval = (s: StateAt, length: number): Slot => {
  const from = Date.parse(s.time), state = s.unknown ? "Unknown" : s.state as Slot["state"];
  return { from, to: from + length, high: s.high, medium: s.medium, low: s.low, state, text: `${state === "Neg" ? "calm" : state}, ${s.low} Low, ${s.medium} Medium, ${s.high} High regions` };
};

/** ofStep has the shares of a step's time, and as its state the one that it was in for longest. */
function ofStep(s: NetworkStep, length: number): Slot {
  const [neg, low, medium, high] = s.seconds, known = neg + low + medium + high, all = Math.max(1, known + s.unknown_seconds), from = Date.parse(s.begin);
  const longestState = ([["High", high], ["Medium", medium], ["Low", low], ["Neg", neg]] as const).reduce((a, b) => b[1] > a[1] ? b : a)[0];
  const said = ([["High", high], ["Medium", medium], ["Low", low], ["calm", neg], ["unknown", s.unknown_seconds]] as const).filter(([, n]) => n > 0).map(([name, n]) => `${name} ${share(n / all)}`).join(", ");
  return { from, to: from + length, high: high / all, medium: medium / all, low: low / all, state: s.unknown_seconds > known ? "Unknown" : longestState, text: `${inWords(length / 1000)}: ${said} of the time` };
}

export class Past {
  history: History = { from: 0, to: 1, stepSeconds: 0, slots: [], events: [], congestion: [] };
  private key = "";
  private asked = 0;
  private anchor = 0; // end of a window around an instant that the newest does not reach

  constructor(private readonly api: OfFabric, private readonly fabric: FabricSummary) {}

  private get length() { return 1000 * this.fabric.interval_seconds; }

  /** ask brings the history up to date; newest is the end of the newest interval. */
  async ask(w: Wanted, newest: () => Promise<number>): Promise<void> {
    if (!w.at && !w.until && !w.span) { // the usual: one question, of the server's own newest interval
      await this.intervals({ intervals: usual }, w.least);
      return;
    }
    const end = await newest(), seconds = w.span === "all" ? await this.stored(end) : Math.min(longest, Number(w.span) || usual * this.fabric.interval_seconds), length = 1000 * seconds;
    const to = Math.max(2, this.endOf(w, end, length)), from = Math.max(1, to - length), key = `${w.span} ${w.until || this.anchor} ${w.least}`, steps = seconds / this.fabric.interval_seconds > mostIntervals;
    const fixed = to < end, old = steps ? Math.min(60_000, 250 * this.history.stepSeconds) : 0;
    if (key === this.key && (fixed || Date.now() - this.asked < old)) return;
    if (steps) await this.steps(from, to, w.least); else await this.intervals({ from, to }, w.least);
    this.key = key;
    this.asked = Date.now();
  }

  /** endOf is where the window ends: as wanted, or around the instant that is shown where the newest intervals do not have it. */
  private endOf(w: Wanted, end: number, length: number): number {
    const at = Date.parse(w.at), inside = (to: number) => at >= to - length && at < to;
    if (w.until) { this.anchor = 0; return Math.min(end, Date.parse(w.until)); }
    if (!w.at || inside(end)) { this.anchor = 0; return end; }
    if (!inside(this.anchor)) this.anchor = Math.min(end, at + length / 2);
    return this.anchor;
  }

  /** stored is how many seconds are stored up to an instant. */
  private async stored(end: number): Promise<number> {
    const { first } = await this.api.networkSteps({ from: end, to: end });
    return first ? Math.min(longest, Math.max(2 * this.fabric.interval_seconds, (end - Date.parse(first)) / 1000)) : usual * this.fabric.interval_seconds;
  }

  private async intervals(range: { intervals: number } | { from: number; to: number }, least: string) {
    const [network, events] = await Promise.all([this.api.network(range), this.api.events(range, { least })]);
    const slots = network.states.map((s) => ofInterval(s, this.length)), known = slots.length > 0 && "intervals" in range;
    this.history = { from: known ? slots[0].from : Date.parse(network.from), to: known ? slots[slots.length - 1].to : Date.parse(network.to), stepSeconds: 0, slots, events: events.events, congestion: [] };
    this.key = "";
  }

  private async steps(from: number, to: number, least: string) {
    const span = { from: iso(from), to: iso(to) };
    const [network, events, congestion] = await Promise.all([this.api.networkSteps(span), this.api.events(span, { least, kinds: failures }), this.api.congestion(span)]);
    this.history = { from, to, stepSeconds: network.step_seconds, slots: network.steps.map((s) => ofStep(s, 1000 * network.step_seconds)), events: events.events, congestion: congestion.events };
  }

  /** incident is the next or the last begin of congestion or failure after or before an instant; empty if there is none for half a year. */
  async incident(from: string, by: number): Promise<string> {
    const shown = Date.parse(from), pick = (times: number[]) => {
      const list = times.filter((t) => by > 0 ? t > shown : t < shown);
      return list.length ? iso(by > 0 ? Math.min(...list) : Math.max(...list)) : "";
    };
    const near = pick(this.incidents());
    if (near && this.covers(shown)) return near;
    for (const reach of [day, longest * 1000]) {
      const span = by > 0 ? { from: iso(shown + 1), to: iso(shown + reach) } : { from: iso(Math.max(1, shown - reach)), to: from };
      const [events, congestion] = await Promise.all([this.api.events(span, { kinds: "link_failed,switch_failed,node_failed,congestion_protection", n: 10_000 }), this.api.congestion(span)]);
      const found = pick([...events.events.map((e) => Date.parse(e.time)), ...congestion.events.map((e) => Date.parse(e.begin))]);
      if (found) return found;
    }
    return "";
  }

  private covers(t: number) { return this.history.stepSeconds === 0 && t >= this.history.from && t <= this.history.to; }

  /** incidents are the instants of the window at which the network became Medium or High, or something failed. */
  private incidents(): number[] {
    const { slots, events } = this.history, bad = (s: Slot | undefined) => s !== undefined && s.state !== "Unknown" && rank(s.state) >= rank("Medium");
    const at = (t: number) => slots.findLast((s) => s.from <= t)?.from ?? t;
    return [...slots.filter((s, i) => bad(s) && i > 0 && !bad(slots[i - 1])).map((s) => s.from), ...events.filter((e) => isIncident(e.kind)).map((e) => at(Date.parse(e.time)))];
  }

  /** after is the start of the interval that follows one that ends at an instant; empty if there is none within a day. */
  async after(end: string): Promise<string> {
    for (const reach of [20 * this.length, day]) {
      const { states } = await this.api.network({ from: end, to: iso(Date.parse(end) + reach) });
      if (states.length) return states[0].time;
    }
    return "";
  }
}

const second = 1000, minute = 60 * second, hour = 60 * minute;
const rounds = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * second, n * minute]).concat([1, 2, 3, 6, 12].map((n) => n * hour), [1, 2, 7, 14, 28].map((n) => n * day)).sort((a, b) => a - b); // between the labels of an axis

/** instants are round ones of UTC in a window, as many as there is room for, and the step between them, in milliseconds. */
export function instants(from: number, to: number, room: number): { step: number; at: number[] } {
  const step = rounds.find((s) => (to - from) / s <= Math.max(1, room)) ?? rounds[rounds.length - 1], at: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) at.push(t);
  return { step, at };
}

/** label is an instant of an axis, by how far labels are apart, with the date where the window is long. */
export const label = (t: number, stepMs: number, windowMs: number) => {
  const time = stepMs < minute ? clock(iso(t)) : clock(iso(t)).slice(0, 5), monthDay = iso(t).slice(5, 10);
  return stepMs >= day ? monthDay : windowMs > day / 2 ? `${monthDay} ${time}` : time;
};

/** axisOf are the instants of a plot's axis, whose times are seconds. */
const axisOf = (u: uPlot, from: number, to: number) => instants(from * 1000, to * 1000, (u.width - 100) / (to - from > day / 2000 ? 85 : 60));
/** timeAxis places and labels them. */
export const timeAxis = {
  splits: (u: uPlot, _: number, from: number, to: number) => axisOf(u, from, to).at.map((t) => t / 1000),
  values: (u: uPlot) => { const { min, max } = u.scales.x, { step, at } = axisOf(u, min!, max!); return at.map((t) => label(t, step, (max! - min!) * 1000)); },
};
