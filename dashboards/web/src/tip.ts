// What the page says of a link or device under the mouse.
import { metricName, percent } from "./format.ts";
import type { Interval } from "./model.ts";
import type { Selection } from "./map/frame.ts";
import { unread } from "./panel/regions.ts";
import type { Region } from "./types.ts";

export function tipOf(what: NonNullable<Selection>, i: Interval, regions: Region[]): string {
  const g = i.graph;
  if ("device" in what) {
    const d = g.devices[what.device], group = g.group(what.device), links = g.linksAt(what.device), lines = [`${g.name(what.device)}${group ? ` (${group})` : ""}: ${d.kind}, ${links.length} links`];
    if (d.label && d.label !== d.name) lines.push(d.name);
    for (const [m, v] of Object.entries(i.values)) {
      let worst = -1;
      for (const l of links) if (v[l] === v[l] && (worst < 0 || v[l] > v[worst])) worst = l;
      if (worst >= 0) lines.push(`${metricName(m)}: at most ${percent(v[worst])}, ${g.linkShort(worst)}`);
    }
    return lines.join("\n");
  }
  const id = what.link, region = regions.find((r) => r.links.includes(id));
  return [`${g.linkText(id)}  (link ${id}${g.links.up[id] ? "" : ", down"})`, ...Object.entries(i.values).map(([m, v]) => `${metricName(m)} ${v[id] === v[id] ? percent(v[id]) : "not measured"}`),
    ...region ? [`${region.severity} region ${region.name || region.id}, ${region.size} links${unread(region)}`] : []].join("\n");
}
