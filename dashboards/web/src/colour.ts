// Colours of stall values (percent of time), severities and jobs, for light and dark.
// The scales change luminance in one direction only, so that they also serve those who
// do not see all hues, and in grey.
import type { Severity } from "./types.ts";

export const severities: readonly Severity[] = ["Neg", "Low", "Medium", "High"];
export const rank = (s: string) => Math.max(0, severities.indexOf(s as Severity));
export const scaleMax = 60;

type Stop = [number, number, number, number];
const darkStops: Stop[] = [[0, 50, 67, 88], [3, 54, 76, 104], [5, 66, 84, 156], [15, 136, 64, 158], [25, 208, 76, 118], [40, 247, 129, 63], [60, 253, 214, 74]];
const lightStops: Stop[] = [[0, 203, 212, 221], [3, 190, 201, 214], [5, 236, 190, 70], [15, 234, 134, 48], [25, 208, 66, 84], [40, 140, 36, 124], [60, 62, 14, 110]];

const steps = 600; // of the table, a tenth of a percent each

function tableOf(stops: Stop[]): Uint8Array {
  const t = new Uint8Array((steps + 1) * 3);
  for (let i = 0; i <= steps; i++) {
    const v = i / 10;
    let k = 1;
    while (k < stops.length - 1 && stops[k][0] < v) k++;
    const a = stops[k - 1], b = stops[k], f = Math.min(1, (v - a[0]) / (b[0] - a[0]));
    for (let c = 0; c < 3; c++) t[3 * i + c] = Math.round(a[c + 1] + f * (b[c + 1] - a[c + 1]));
  }
  return t;
}

/** Palette is what is drawn with, in one of the two themes. */
interface Palette {
  dark: boolean; table: Uint8Array; css: string[]; missing: string; missingRGB: [number, number, number];
  severity: Record<Severity, string>; unknown: string; ink: string; faint: string; edge: string; ground: string; panel: string; accent: string; down: string;
}

function palette(dark: boolean): Palette {
  const table = tableOf(dark ? darkStops : lightStops);
  const css = Array.from({ length: steps + 1 }, (_, i) => `rgb(${table[3 * i]},${table[3 * i + 1]},${table[3 * i + 2]})`);
  return dark
    ? { dark, table, css, missing: "#3a3a42", missingRGB: [58, 58, 66], severity: { Neg: "#5d7288", Low: "#4fb3e8", Medium: "#f2b632", High: "#ff6d5a" }, unknown: "#b9a1f2",
      ink: "#e4ebf2", faint: "#9db0c3", edge: "#2a3a4c", ground: "#0d141c", panel: "#141d28", accent: "#62d0c0", down: "#ff6d5a" }
    : { dark, table, css, missing: "#efe9e4", missingRGB: [239, 233, 228], severity: { Neg: "#8b98a6", Low: "#1878b4", Medium: "#a86800", High: "#c62a1c" }, unknown: "#6c4fc4",
      ink: "#17212b", faint: "#52616f", edge: "#d3dae1", ground: "#f7f9fb", panel: "#ffffff", accent: "#0a7d6f", down: "#c62a1c" };
}

const both = { dark: palette(true), light: palette(false) };
let current = both.dark;
export const colours = () => current;
export const useTheme = (theme: "dark" | "light") => { current = both[theme]; };

export const indexOf = (v: number) => v <= 0 ? 0 : v >= scaleMax ? steps : Math.round(v * 10);
const stallColour = (v: number | null | undefined) => v == null || v !== v ? current.missing : current.css[indexOf(v)];

/** drawLegend paints the scale with its unit and where the severities begin. */
export function drawLegend(canvas: HTMLCanvasElement) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth || 260, hgt = canvas.clientHeight || 30;
  canvas.width = w * ratio;
  canvas.height = hgt * ratio;
  const c = canvas.getContext("2d");
  if (!c) return;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, w, hgt);
  const ticks: [number, string][] = [[0, "0"], [5, "5 Low"], [15, "15 Medium"], [25, "25 High"], [40, "40"], [60, "60+"]]; // equally far apart, so that their names have room
  const left = 4, step = (w - left - 20) / (ticks.length - 1), bar = 8;
  for (let i = 0; i < step * (ticks.length - 1); i++) {
    const k = Math.floor(i / step), from = ticks[k][0], to = ticks[k + 1][0];
    c.fillStyle = stallColour(from + (to - from) * (i / step - k));
    c.fillRect(left + i, 0, 1.5, bar);
  }
  c.font = "10px system-ui, sans-serif";
  c.fillStyle = current.faint;
  ticks.forEach(([, text], k) => { c.textAlign = k === 0 ? "left" : "center"; c.fillRect(left + k * step, bar, 1, 3); c.fillText(text, left + k * step, bar + 13); });
}

/** drawChangeLegend paints the scale of changes from less to more, up to a limit in points of percent. */
export function drawChangeLegend(canvas: HTMLCanvasElement, css: string[], limit: number) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth || 330, hgt = canvas.clientHeight || 24, c = canvas.getContext("2d");
  canvas.width = w * ratio;
  canvas.height = hgt * ratio;
  if (!c) return;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  const left = 24, wide = w - 60;
  for (let i = 0; i < wide; i++) { c.fillStyle = css[Math.round(i / wide * (css.length - 2))]; c.fillRect(left + i, 0, 1.5, 8); }
  c.font = "10px system-ui, sans-serif";
  c.fillStyle = current.faint;
  c.textAlign = "center";
  for (const f of [-1, -.5, 0, .5, 1]) { const x = left + wide * (f + 1) / 2; c.fillRect(x, 8, 1, 3); c.fillText(f === 0 ? "same" : `${f > 0 ? "+" : "\u2212"}${Math.abs(f * limit)}`, x, 21); }
}

const jobHues = ["#7fd6c2", "#c5a3ff", "#8fc7ff", "#ffd27a", "#ff9db0", "#b7e07a", "#f0a8e8", "#9fb4c8"];
/** jobColour is for the n-th of several jobs that are shown at once; shape and label say the same. */
export const jobColour = (n: number) => jobHues[n % jobHues.length];
