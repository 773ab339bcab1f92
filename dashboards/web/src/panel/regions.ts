// The list of regions, the worst first. An entry lives as long as its region, so that it
// keeps the focus from interval to interval.
import { rank, severities } from "../colour.ts";
import { h, setText } from "../dom.ts";
import { metricName } from "../format.ts";
import { plainName } from "../graph.ts";
import type { Region } from "../types.ts";
import { fillForecast } from "./forecast.ts";

const keyOf = (r: Region) => String(r.id || r.metric + " " + r.name);
const worse = (a: Region, b: Region) => rank(b.severity) - rank(a.severity) || b.mean - a.mean;
/** counted is how many regions there are of each severity. */
export const counted = (regions: Region[]) => [...severities].reverse().map((s) => [regions.filter((r) => r.severity === s).length, s] as const).filter(([n]) => n > 0).map(([n, s]) => `${n} ${s}`).join(", ");
export const regionName = (r: Region) => r.name || "region " + r.id;

export class RegionList {
  private items = new Map<string, { region: Region; li: HTMLLIElement }>();

  /** onPoint is called when another entry has the mouse or the focus, onChoose with the region of an entry that is clicked. */
  constructor(private readonly list: HTMLElement, onPoint: () => void, onChoose: (r: Region) => void) {
    for (const event of ["mouseover", "mouseout", "focusin", "focusout"]) list.addEventListener(event, onPoint);
    const choose = (e: Event) => { const item = this.items.get((e.target as HTMLElement).closest("li")?.dataset.key ?? ""); if (item) onChoose(item.region); };
    list.addEventListener("click", choose);
    list.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(e); } });
  }

  /** pointed is the region under the mouse, or else the one with the focus. */
  get pointed(): Region | null {
    const li = this.list.querySelector<HTMLElement>("li:hover") ?? this.list.querySelector<HTMLElement>("li:focus");
    return this.items.get(li?.dataset.key ?? "")?.region ?? null;
  }

  /** verdict is why a region is there, in one line; empty where it has no diagnosis. none is what to say where there is no region. */
  show(regions: Region[], chosen: string, duration: (intervals: number) => string, verdict: (r: Region) => string, none = "no region") {
    const old = this.items;
    this.items = new Map([...regions].sort(worse).map((region) => {
      const key = keyOf(region), li = old.get(key)?.li ?? newItem(key);
      fill(li, region, duration, verdict(region));
      li.classList.toggle("chosen", key === chosen);
      li.querySelector("b")!.setAttribute("aria-current", String(key === chosen));
      return [key, { region, li }];
    }));
    this.place([...this.items.values()].map((item) => item.li), none);
  }

  /** place puts the entries in order around the one with the focus, which would lose it if it were moved. */
  private place(order: HTMLLIElement[], none: string) {
    const still = order.indexOf(document.activeElement as HTMLLIElement);
    if (still < 0) {
      this.list.replaceChildren(...order.length ? order : [h("li", { class: "none" }, none)]);
      return;
    }
    for (const li of [...this.list.children]) if (!order.includes(li as HTMLLIElement)) li.remove();
    order[still].before(...order.slice(0, still));
    order[still].after(...order.slice(still + 1));
  }
}

function newItem(key: string): HTMLLIElement {
  return h("li", { data: { key }, attrs: { tabindex: "-1" } }, h("i", null), h("b", null), h("span", null), h("em", null), h("small", null), h("div", { class: "forecast" }));
}

function fill(li: HTMLLIElement, r: Region, duration: (intervals: number) => string, verdict: string) {
  const [mark, name, size, why, about, forecast] = [...li.children] as HTMLElement[];
  mark.className = r.severity;
  setText(name, regionName(r));
  setText(size, r.size + " links" + growth(r) + unread(r));
  setText(why, verdict);
  setText(about, `${r.severity}: mean ${r.mean.toFixed(1)}%${arrow(r)}, max ${r.max.toFixed(1)}%` + (r.age_intervals ? `, for ${duration(r.age_intervals)}` : "") + `, ${metricName(r.metric)}` +
    (r.root ? `; waits for ${plainName(r.root.device)}${r.root.port ? " port " + r.root.port : ""}` : ""));
  fillForecast(forecast, r.forecast, duration);
}

/** unread is how many links of a region have no reading. */
export const unread = (r: Region) => r.unread ? `, ${r.unread} unread` : "";

/** arrow says whether a mean rises or falls by half a point per interval or more; a fall while links are unread is no relief. */
function arrow(r: Region): string {
  const trend = r.forecast?.trend_percent ?? 0;
  return trend >= .5 ? " \u2197" : trend <= -.5 && !r.unread ? " \u2198" : "";
}

function growth(r: Region): string {
  const links = r.forecast?.growth_links ?? 0;
  return links ? ` (${links > 0 ? "+" : "\u2212"}${Math.abs(Math.round(links * 10) / 10)})` : "";
}
