// Why a region is congested: the verdict of one diagnosis, with its numbers, and as text
// for a ticket. What comes from outside, names of jobs and devices, is text everywhere.
import { h, legible } from "../dom.ts";
import { plainName } from "../graph.ts";
import { amount, clock, metricName, sure, words } from "../format.ts";
import type { AccusedJob, Diagnosis, Job, NearFailure, Region, VictimJob } from "../types.ts";
import { regionName, unread } from "./regions.ts";

const classes: Record<string, string> = { system: "load of jobs", failure: "failure", intra_application: "a job congests itself", slow_host: "slow host", unknown: "cause unknown" };
const kinds: Record<string, string> = { incast: "incast", slow_receiver: "slow receiver", link_capacity: "full link", link_down: "link down", deadlock: "deadlock" };

export type Jobs = Map<string, Job>;
const jobName = (id: string, jobs: Jobs) => "job " + id + (jobs.get(id)?.name ? ` (${jobs.get(id)!.name})` : "");

export const causeName = (cause: string) => classes[cause] ?? words(cause);

/** accusation is a job with the numbers that speak against it, those alone. */
function accusation(j: AccusedJob, jobs: Jobs): string {
  const lag = j.lag_seconds ? ` at a lag of ${Math.round(j.lag_seconds)} s` : "";
  return [`${jobName(j.job_id, jobs)}: blame ${sure(j.blame)}`, j.value > 0 && `${words(j.feature)} ${amount(j.feature, j.value)}`, j.deviations >= 1 && `${j.deviations.toFixed(1)} deviations above the median`,
    j.correlation > 0 && j.p_value < .2 && `correlation ${j.correlation.toFixed(2)}${lag}, p ${j.p_value.toPrecision(2)}`].filter(Boolean).join("; ");
}

/** slower says how many times, as the diagnosis' text does; 20 is the most that a slowdown can be known to be. */
function slower([least, most]: number[]): string {
  const tenths = (v: number) => (Math.round(10 * v) / 10).toFixed(1), low = tenths(least!), high = tenths(most!);
  if (most! >= 19.95) return `${low.replace(/\.0$/, "")} or more times slower`;
  return (low === high ? high : low === "1.0" ? `up to ${high}` : `${low} to ${high}`) + " times slower";
}

/** suffering is a job that is held up: by how much its traffic fell with the region, where that is measured, and the slowdown that stalls allow for. */
const suffering = (v: VictimJob, jobs: Jobs) => `${jobName(v.job_id, jobs)}: ${v.lost_percent ? `moves ${Math.round(v.lost_percent)}% less; ` : ""}${slower(v.slowdown)}`;

const portText = (device: string, port?: string | null) => plainName(device) + (port ? " port " + port : "");
const rootText = (r: NonNullable<Diagnosis["root"]>) => `${portText(r.device, r.port)}${r.peer ? " to " + plainName(r.peer) : ""}${r.kind ? ": " + (kinds[r.kind] ?? words(r.kind)) : ""}`;
const failureText = (f: NearFailure) => `${clock(f.time)} UTC ${words(f.kind)} ${[plainName(f.device), f.port].filter(Boolean).join(" ")}, ${f.hops} ${f.hops === 1 ? "hop" : "hops"} away`;

/** factsOf are the parts of a diagnosis that have something to say. */
function factsOf(d: Diagnosis, jobs: Jobs): [string, string[]][] {
  const facts: [string, string[]][] = [
    ["accused", (d.jobs ?? []).map((j) => accusation(j, jobs))], ["failures near", (d.failures ?? []).map(failureText)], ["root port", d.root ? [rootText(d.root)] : []], ["circular wait", (d.cycle ?? []).map((p) => portText(p.device, p.port))], ["inside the host", d.probed_host ? [d.probed_host.text] : []],
    ["victims", (d.victims ?? []).map((v) => suffering(v, jobs))], ["action", d.action ? [d.action] : []],
  ];
  return facts.map(([what, lines]): [string, string[]] => [what, [...new Set(lines)]]).filter(([, lines]) => lines.length > 0);
}

/** headline is the verdict; that no cause is known is nothing to be sure of. */
const headline = (d: Diagnosis) => d.cause.class === "unknown" ? classes.unknown : `${causeName(d.cause.class)}, ${sure(d.cause.confidence)} sure`;

/** inShort is the verdict in one line of a list: who or what is to blame. */
export function inShort(d: Diagnosis, jobs: Jobs): string {
  if (d.cause.class === "unknown") return classes.unknown;
  const job = d.jobs?.[0] && jobName(d.jobs[0].job_id, jobs), failure = d.failures?.[0];
  const of: Record<string, string | undefined> = { system: job && `load of ${job}`, intra_application: job && `${job} congests itself`, failure: failure && [words(failure.kind), plainName(failure.device), failure.port].filter(Boolean).join(" ") };
  const host = d.cause.class === "slow_host" && d.root?.peer ? " " + plainName(d.root.peer) : "", place = d.root && !of[d.cause.class] ? `${host} at ${portText(d.root.device, d.root.port)}` : "";
  return `${of[d.cause.class] ?? causeName(d.cause.class)}${place}, ${sure(d.cause.confidence)} sure`;
}

/** ticket is what an operator pastes. */
export function ticket(d: Diagnosis, region: Region | undefined, fabric: string, jobs: Jobs, address: string): string {
  const head = `${d.severity} congestion on ${fabric}: ${region?.name || "region " + d.region} (region ${d.region}), ${d.time}`;
  const facts = factsOf(d, jobs).flatMap(([what, lines]) => lines.map((line) => `${what}: ${line}`));
  return [head, "", d.text, "", `cause: ${headline(d)}`, `mean stall: ${d.mean_percent.toFixed(1)}% of time on ${d.links.length} links (${metricName(d.metric)})`, ...facts, "", address].map(legible).join("\n");
}

/** fillDiagnosis shows a region with its diagnosis; of a region without one what is known of it. */
export function fillDiagnosis(into: HTMLElement, d: Diagnosis | undefined, region: Region | undefined, jobs: Jobs, age: string) {
  const name = region ? regionName(region) : d ? "region " + d.region : "";
  const parts: HTMLElement[] = [h("h3", null, name)];
  if (region) {
    parts.push(h("p", null, h("b", { class: region.severity }, region.severity), `: ${region.size} links stall for ${region.mean.toFixed(1)}% of time on average, ${region.max.toFixed(1)}% at most (${metricName(region.metric)})${age ? `, for ${age}` : ""}${unread(region)}`));
  }
  if (d) {
    // What to do comes first, and once: the text ends with it.
    const text = d.action && d.text.endsWith(d.action) ? d.text.slice(0, -d.action.length).trimEnd() : d.text;
    parts.push(h("p", { class: "cause " + (d.cause.class === "unknown" ? "Neg" : d.severity) }, headline(d)), ...d.action ? [h("p", { class: "action" }, d.action)] : [], h("p", null, text));
    const facts = factsOf(d, jobs).filter(([what]) => what !== "action");
    if (facts.length) parts.push(h("dl", null, ...facts.flatMap(([what, lines]) => [h("dt", null, what), ...lines.map((line) => h("dd", null, line))])));
  } else if (region) parts.push(h("p", { class: "Neg" }, "not diagnosed"));
  into.replaceChildren(...parts);
}

/** copyText puts text on the clipboard, also where the page came without TLS. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard && isSecureContext) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: the old way */ }
  }
  const area = h("textarea", null);
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
