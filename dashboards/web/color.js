// Colours of stall values (percent of time) and of severities.

// Luminance rises all the way, and the hue turns where a severity begins.
const stops = [[0, 0x18, 0x22, 0x2f], [2, 0x1c, 0x2f, 0x40], [5, 0x24, 0x50, 0x6a], [15, 0x2f, 0x8f, 0x83],
  [25, 0xd9, 0xb6, 0x48], [40, 0xf5, 0x8f, 0x52], [60, 0xff, 0x8f, 0x9c], [100, 0xff, 0xe3, 0xea]];

export const scaleMax = 60;

const table = Array.from({ length: 1001 }, (_, i) => {
  const v = i / 10;
  let k = 1;
  while (k < stops.length - 1 && stops[k][0] < v) k++;
  const [a, b] = [stops[k - 1], stops[k]], t = (v - a[0]) / (b[0] - a[0]);
  return `rgb(${[1, 2, 3].map((c) => Math.round(a[c] + t * (b[c] - a[c]))).join(",")})`;
});

export const missing = "#2b2b33";
export const stallColor = (v) => v == null ? missing : table[Math.max(0, Math.min(1000, Math.round(v * 10)))];

export const severities = ["Neg", "Low", "Medium", "High"];
const style = getComputedStyle(document.documentElement);
export const severityColor = Object.fromEntries(severities.map((s) => [s, style.getPropertyValue("--" + s.toLowerCase()).trim()]));

export function drawLegend(host) {
  const canvas = document.createElement("canvas");
  canvas.width = 220; canvas.height = 9;
  const c = canvas.getContext("2d");
  for (let x = 0; x < 220; x++) { c.fillStyle = stallColor(x / 220 * scaleMax); c.fillRect(x, 0, 1, 9); }
  host.replaceChildren(canvas, ...[5, 15, 25, 40, 60].map((v) => {
    const s = document.createElement("span");
    s.textContent = v + "%"; s.style.left = v / scaleMax * 220 + "px";
    return s;
  }));
}
