// Numbers, times and names as people read them.
import type { Subsystem, Unknown } from "./types.ts";

export const words = (name: string) => name.replaceAll("_", " ");
export const clock = (time: string) => time.slice(11, 19);
export const date = (time: string) => time.slice(0, 10);
const today = () => new Date().toISOString().slice(0, 10);
/** when is a time with its date, unless that is today's. */
export const when = (time: string) => (date(time) === today() ? "" : date(time) + " ") + clock(time) + " UTC";
export const iso = (ms: number) => new Date(ms).toISOString().replace(/\.000Z$/, "Z");
export const percent = (v: number | null | undefined) => v == null ? "not measured" : v.toFixed(1) + "%";
export const share = (p: number) => Math.round(100 * p) + "%";
// sure is a confidence: no verdict is certain, so it is 99% at most.
export const sure = (p: number) => share(Math.min(0.99, p));
export const count = (n: number) => n.toLocaleString("en");
export const many = (n: number, one: string, more = one + "s") => `${count(n)} ${n === 1 ? one : more}`;

/** span is a length of time in seconds, in words. */
export function span(s: number): string {
  s = Math.round(s);
  return s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : s < 172800 ? (s / 3600).toFixed(1) + " h" : s < 6e7 ? Math.round(s / 86400) + " days" : Math.round(s / 31557600) + " years";
}

export const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;

/** amount is a number in short: 2.3e11 bytes are 230 GB. */
export function amount(feature: string, value: number): string {
  const units = ["", "k", "M", "G", "T", "P"], bytes = feature.includes("bytes");
  let i = 0;
  for (; Math.abs(value) >= 1000 && i < units.length - 1; i++) value /= 1000;
  return Number(value.toPrecision(3)) + (i ? " " + units[i] : bytes ? " " : "") + (bytes ? "B" : "");
}

const metricNames: Record<string, string> = { credit_stall: "credit stall", inq_stall: "input-queue stall", xmit_wait: "transmit wait", pause: "PFC pause" };
const direction: Record<string, string> = { rx: "received", tx: "sent" };
/** metricName is a metric in words: pfc_pause_rx_prio3 is PFC pause received, priority 3. */
export function metricName(m: string): string {
  const [, way, priority] = m.match(/^(?:pfc_)?pause_([rt]x)(?:_prio(\d))?$/) ?? [];
  return way ? `${priority ? "PFC pause" : "pause"} ${direction[way]}${priority ? ` (prio ${priority})` : ""}` : metricNames[m] ?? words(m);
}

/** inWords writes the metrics of a text so. */
export const inWords = (text: string) => text.replace(/\b(?:pfc_)?pause_[rt]x(?:_prio\d)?\b/g, metricName).replace(/\b(?:credit_stall|inq_stall|xmit_wait)\b/g, metricName);

/** unknownReasons says why the state of a network is not known. */
export const unknownReasons: Record<string, string> = {
  nothing_measured: "nothing measured", low_coverage: "too few links measured", late_readings: "readings arrive too late", no_readings: "collectors silent", kafka: "Kafka unreachable", store: "store not accepting writes", behind: "analysis behind", no_interval: "no new interval",
};

/** unknownActions says what an operator has to do about it, where the detail does not. */
export const unknownActions: Record<string, string> = {
  nothing_measured: "See docs/how-to/troubleshoot.md; giverny_analyse_dropped_total counts dropped readings by reason.", low_coverage: "Find the silent agents with giverny agents list.",
  no_readings: "Check the agents: run giverny collect --once on one of their hosts.", kafka: "Start the brokers. Agents spool their readings meanwhile and send them when Kafka is back.",
  store: "Start ClickHouse, or free space on its disk. Results wait in Kafka meanwhile.", behind: "What is shown is the past. Nothing is lost while Kafka keeps the readings.", no_interval: "Check /-/ready of the analyser.",
};

/** unknownTodo says why the state is not known in detail, and what to do. */
export const unknownTodo = (u: Unknown) => `${u.detail ? u.detail[0].toUpperCase() + u.detail.slice(1) + ". " : ""}${unknownActions[u.reason] ?? ""}`;

/** unknownReason is the reason in words. */
export const unknownReason = (u: Unknown) => unknownReasons[u.reason] ?? words(u.reason);

/** subsystem is a network card and what it stands in, as far as that is known. */
export function subsystem(s: Subsystem): string {
  const parts = [s.nic_model || "unknown network card", s.firmware && "firmware " + s.firmware, s.board, s.cpu, s.pcie && "PCIe " + s.pcie, s.nps && "NPS" + s.nps, s.kernel && "Linux " + s.kernel];
  return parts.filter(Boolean).join(", ");
}

type Bounds = { in?: unknown[]; min?: unknown; max?: unknown; all?: Bounds; any?: Bounds[] };

function bounds(b: Bounds): string {
  const parts: string[] = [];
  if (b.in) parts.push(b.in.join(" or "));
  if (b.min !== undefined) parts.push(`${b.min} or more`);
  if (b.max !== undefined) parts.push(`${b.max} or less`);
  if (b.all) parts.push("all " + bounds(b.all));
  if (b.any) parts.push(b.any.map((one) => "some " + bounds(one)).join(" and "));
  return parts.join(", ");
}

/** condition is a minimal feature set in words: dimensions with the values that matter. */
export const condition = (mfs: Record<string, unknown>) => Object.entries(mfs).map(([name, b]) => `${words(name)} ${bounds(b as Bounds)}`).join("; ");
