// Where a region or the network is heading: a bar for the next interval and one for the
// fifth, each parted as likely as the severities are.
import { h } from "../dom.ts";
import type { Odds } from "../types.ts";

const states = ["Neg", "Low", "Medium", "High", "gone"]; // as the API has them
const worstFirst = ["High", "Medium", "Low", "Neg", "gone"];
const called = (state: string) => state === "Neg" ? "calm" : state;
/** percent words a probability, none of which is certain: the API rounds to three places. */
const percent = (p: number) => p < .01 ? "<1%" : p > .99 ? ">99%" : Math.round(100 * p) + "%";

/** fillForecast puts the bars of a forecast into an element; nothing if there is none. */
export function fillForecast(into: HTMLElement, f: { next: Odds | null; later: Odds | null } | null | undefined, duration: (intervals: number) => string) {
  const rows = [["in " + duration(1), f?.next], ["in " + duration(5), f?.later]] as const;
  into.replaceChildren(...rows.flatMap(([when, odds]) => odds?.some((p) => p > 0) ? row(when, odds) : []));
}

function row(when: string, odds: Odds): HTMLElement[] {
  const order = worstFirst.map((state) => [state, odds[states.indexOf(state)] ?? 0] as const);
  const said = order.filter(([, p]) => p >= .005).map(([state, p]) => `${called(state)} ${percent(p)}`).join(", "), title = `${when}: ${said}`;
  const bar = h("span", { class: "odds", title, attrs: { role: "img", "aria-label": title } });
  for (const [state, p] of order) {
    const part = h("i", { class: state });
    part.style.width = 100 * p + "%";
    bar.append(part);
  }
  const [state, p] = order.reduce((best, one) => one[1] > best[1] ? one : best);
  return [h("span", null, when), bar, h("span", null, `${called(state)} ${percent(p)}`)];
}
