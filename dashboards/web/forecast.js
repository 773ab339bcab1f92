// Where a region or the network is heading: a bar for the next interval and one
// for the fifth, each parted as likely as the severities are.
import { severityColor } from "./color.js";

const states = ["Neg", "Low", "Medium", "High", "gone"]; // as the API has them
const colorOf = (state) => state === "gone" ? "transparent" : severityColor[state];
const percent = (p) => p > 0 && p < .01 ? "<1%" : p > .99 && p < 1 ? ">99%" : Math.round(100 * p) + "%";

// fillForecast puts the bars of a forecast into an element; nothing if there is none.
export function fillForecast(into, forecast, interval) {
  const rows = [["in " + interval(1), forecast?.next], ["in " + interval(5), forecast?.later]];
  into.replaceChildren(...rows.filter(([, odds]) => odds?.some((p) => p > 0)).flatMap(([when, odds]) => row(when, odds)));
}

function row(when, odds) {
  const label = document.createElement("span"), bar = document.createElement("span"), likeliest = document.createElement("span");
  const order = ["High", "Medium", "Low", "Neg", "gone"].map((state) => [state, odds[states.indexOf(state)] ?? 0]); // the worst first
  const said = order.filter(([, p]) => p >= .005).map(([state, p]) => `${state} ${percent(p)}`).join(", ");
  label.textContent = when;
  bar.className = "odds";
  bar.title = `${when}: ${said}`;
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", bar.title);
  for (const [state, p] of order) {
    const part = document.createElement("span");
    part.style.width = 100 * p + "%";
    part.style.background = colorOf(state);
    bar.append(part);
  }
  const [state, p] = order.reduce((best, one) => one[1] > best[1] ? one : best);
  likeliest.textContent = `${state} ${percent(p)}`;
  return [label, bar, likeliest];
}
