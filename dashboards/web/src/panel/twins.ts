// Pause is counted at both ends of a link, as received and as sent: a region of one is there
// once more in the other. It is shown once.
import { rank } from "../colour.ts";
import { inWords } from "../format.ts";
import type { Diagnosis, FabricEvent, Region } from "../types.ts";

const pause = /^((?:pfc_)?pause)_([rt]x)(.*)$/;
const common = .5; // of the links of both together

/** otherEnd is the metric that counts the same pause at the other end; empty where there is none. */
const otherEnd = (metric: string) => pause.test(metric) ? metric.replace(pause, (_, a: string, way: string, b: string) => `${a}_${way === "rx" ? "tx" : "rx"}${b}`) : "";

function alike(a: Region, b: Region): boolean {
  const of = new Set(a.links), both = b.links.filter((l) => of.has(l)).length;
  return both >= common * (a.links.length + b.links.length - both);
}

/** Once are regions without their twins, and of each twin that is not shown the one that stands for it, by id. */
interface Once { shown: Region[]; standsFor: Map<string, Region> }

/** once keeps of two twins the one that is diagnosed, or of the worse severity, or what was received: their means take turns. */
export function once(regions: Region[], diagnoses: Diagnosis[]): Once {
  const diagnosed = new Set(diagnoses.map((d) => d.region)), standsFor = new Map<string, Region>(), worth = (r: Region) => [Number(diagnosed.has(String(r.id))), rank(r.severity), Number(r.metric.includes("_rx")), r.mean];
  const order = [...regions].sort((a, b) => { const x = worth(a), y = worth(b), i = x.findIndex((v, k) => v !== y[k]); return i < 0 ? 0 : y[i] - x[i]; }), kept: Region[] = [];
  for (const r of order) {
    const twin = pause.test(r.metric) ? kept.find((k) => k.metric === otherEnd(r.metric) && alike(k, r)) : undefined;
    if (twin) standsFor.set(String(r.id), twin); else kept.push(r);
  }
  return { shown: regions.filter((r) => kept.includes(r)), standsFor };
}

/** eventsOnce leaves out what an event of the other end says again. */
export function eventsOnce(events: FabricEvent[]): FabricEvent[] {
  const seen = new Set<string>();
  return events.filter((e) => {
    const text = e.detail ?? "";
    if (!/pause_[rt]x/.test(text)) return true;
    const key = `${e.kind} ${e.time} ${inWords(text).replace(/ (received|sent)/, "").replace(/\d+ (links|intervals)/g, "$1")}`, had = seen.has(key);
    seen.add(key);
    return !had;
  });
}
