// Why a region is congested: the verdict of one diagnosis, with its numbers, and as
// text for a ticket. What comes from outside, names of jobs and devices, is text
// everywhere, never markup.
const words = (name) => name.replaceAll("_", " ");
const percent = (p) => Math.round(100 * p) + "%";
const classes = { system: "load of jobs", failure: "failure", intra_application: "a job in its own way", slow_host: "slow host", unknown: "cause unknown" };
const kinds = { incast: "incast", slow_receiver: "slow receiver", link_capacity: "link too slow for its load", link_down: "link down", deadlock: "deadlock" };
const clock = (time) => time.slice(11, 19) + " UTC";

// amount is a number in short: 2.3e+11 bytes are 230 GB.
function amount(feature, value) {
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; Math.abs(value) >= 1000 && i < units.length - 1; i++) value /= 1000;
  const short = Number(value.toPrecision(3)) + (i ? " " + units[i] : feature.includes("bytes") ? " " : "");
  return feature.includes("bytes") ? short + "B" : short;
}

const jobName = (id, jobs) => "job " + id + (jobs.get(id)?.name ? ` (${jobs.get(id).name})` : "");

// accusation is a job with the numbers that speak against it.
function accusation(j, jobs) {
  const lag = j.lag_seconds ? ` at a lag of ${Math.round(j.lag_seconds)} s` : "";
  return `${jobName(j.job_id, jobs)}: blame ${percent(j.blame)}; ${words(j.feature)} ${amount(j.feature, j.value)}, ${j.deviations.toFixed(1)} deviations above the median; ` +
    `correlation ${j.correlation.toFixed(2)}${lag}, p ${j.p_value.toPrecision(2)}`;
}

const rootText = (r) => r ? `${r.device}${r.port ? " port " + r.port : ""}${r.peer ? " to " + r.peer : ""}: ${kinds[r.kind] ?? words(r.kind)}` : "";
const failureText = (f) => `${clock(f.time)} ${words(f.kind)} ${[f.device, f.port].filter(Boolean).join(" ")}, ${f.hops} ${f.hops === 1 ? "hop" : "hops"} away`;
const victimText = (v, jobs) => `${jobName(v.job_id, jobs)}: ${v.slowdown[0].toFixed(1)} to ${v.slowdown[1].toFixed(1)} times slower`;

// factsOf are the parts of a diagnosis that have something to say.
function factsOf(d, jobs) {
  return [["accused", (d.jobs ?? []).map((j) => accusation(j, jobs))], ["failures near", (d.failures ?? []).map(failureText)], ["root port", d.root ? [rootText(d.root)] : []],
    ["victims", (d.victims ?? []).map((v) => victimText(v, jobs))], ["action", d.action ? [d.action] : []]].filter(([, lines]) => lines.length);
}

// headline is the verdict; that no cause is known is nothing to be sure of.
export const headline = (d) => d.cause.class === "unknown" ? classes.unknown : `${classes[d.cause.class] ?? words(d.cause.class)}, ${percent(d.cause.confidence)} sure`;

// ticket is what an operator pastes.
export function ticket(d, region, fabric, jobs) {
  const head = `${d.severity} congestion on ${fabric}: ${region?.name || "region " + d.region} (region ${d.region}), ${d.time}`;
  const facts = factsOf(d, jobs).flatMap(([what, lines]) => lines.map((line) => `${what}: ${line}`));
  return [head, "", d.text, "", `cause: ${headline(d)}`, `mean stall: ${d.mean_percent.toFixed(1)}% of time on ${d.links.length} links (${words(d.metric)})`, ...facts].join("\n");
}

// fillDiagnosis shows a diagnosis in an element; nothing if there is none.
export function fillDiagnosis(into, d, region, jobs) {
  const make = (tag, text, cls) => Object.assign(document.createElement(tag), { textContent: text, className: cls ?? "" });
  if (!d) { into.replaceChildren(); return; }
  const title = make("b", region?.name || "region " + d.region), cause = make("p", headline(d), "cause " + (d.cause.class === "unknown" ? "Neg" : d.severity));
  const facts = document.createElement("dl");
  for (const [what, lines] of factsOf(d, jobs)) facts.append(make("dt", what), ...lines.map((line) => make("dd", line)));
  into.replaceChildren(title, cause, make("p", d.text), facts);
}

// copyText puts text on the clipboard, also where the page came without TLS.
export async function copyText(text) {
  if (navigator.clipboard && isSecureContext) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: the old way */ }
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
