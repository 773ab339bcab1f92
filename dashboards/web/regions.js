// The list of regions, the worst first. An entry lives as long as its region, so
// that it keeps the focus from interval to interval.
import { severityColor, severities } from "./color.js";
import { fillForecast } from "./forecast.js";

const keyOf = (r) => String(r.id || r.metric + " " + r.name);
const worse = (a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity) || b.mean - a.mean;

export class RegionList {
  // onPoint is called when another entry has the mouse or the focus, onChoose with
  // the region of an entry that is clicked.
  constructor(list, onPoint, onChoose) {
    Object.assign(this, { list, items: new Map() });
    for (const event of ["mouseover", "mouseout", "focusin", "focusout"]) list.addEventListener(event, onPoint);
    const choose = (target) => { const item = this.items.get(target.closest("li")?.dataset.key); if (item) onChoose(item.region); };
    list.addEventListener("click", (e) => choose(e.target));
    list.addEventListener("keydown", (e) => { if (e.key === "Enter") choose(e.target); });
  }

  // pointed is the region under the mouse, or else the one with the focus.
  get pointed() {
    const li = this.list.querySelector("li:hover") ?? this.list.querySelector("li:focus");
    return this.items.get(li?.dataset.key)?.region ?? null;
  }

  show(regions, duration) {
    const old = this.items, sorted = [...regions].sort(worse);
    this.items = new Map(sorted.map((region) => {
      const key = keyOf(region), li = old.get(key)?.li ?? newItem(key);
      fill(li, region, duration);
      return [key, { region, li }];
    }));
    this.place([...this.items.values()].map((item) => item.li));
  }

  // place puts the entries in order around the one with the focus, which would lose
  // it if it were moved.
  place(order) {
    const still = order.indexOf(document.activeElement);
    if (still < 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "no region";
      this.list.replaceChildren(...order.length ? order : [none]);
      return;
    }
    for (const li of [...this.list.children]) if (!order.includes(li)) li.remove();
    order[still].before(...order.slice(0, still));
    order[still].after(...order.slice(still + 1));
  }
}

function newItem(key) {
  const li = document.createElement("li");
  li.tabIndex = 0;
  li.dataset.key = key;
  li.append(...["i", "b", "span", "small"].map((tag) => document.createElement(tag)), document.createElement("div"));
  li.lastChild.className = "forecast";
  return li;
}

function fill(li, r, duration) {
  const [mark, name, size, about, forecast] = li.children;
  mark.style.background = severityColor[r.severity];
  name.textContent = r.name || "region " + r.id;
  size.textContent = r.size + " links" + growth(r.forecast);
  about.textContent = `${r.severity}: mean ${r.mean.toFixed(1)}%${arrow(r.forecast)}, max ${r.max.toFixed(1)}%` +
    (r.age_intervals ? `, for ${duration(r.age_intervals)}` : "") + `, ${r.metric.replaceAll("_", " ")}` +
    (r.root ? `; waits for ${r.root.device}${r.root.port ? " port " + r.root.port : ""}` : "");
  fillForecast(forecast, r.forecast, duration);
}

// arrow says whether a mean rises or falls by half a point per interval or more.
function arrow(forecast) {
  const trend = forecast?.trend_percent ?? 0;
  return trend >= .5 ? " \u2197" : trend <= -.5 ? " \u2198" : "";
}

function growth(forecast) {
  const links = forecast?.growth_links ?? 0;
  return links ? ` (${links > 0 ? "+" : "\u2212"}${Math.abs(links)})` : "";
}
