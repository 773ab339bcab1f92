// The strip below the map: how many regions of each severity there were.
import { severityColor } from "./color.js";

export function drawTimeline(canvas, states) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio;
  canvas.height = h * ratio;
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (!states.length) return;
  const label = 15, width = Math.min(14, w / states.length);
  const most = Math.max(4, ...states.map((s) => s.low + s.medium + s.high));
  states.forEach((s, i) => {
    const x = w - (states.length - i) * width;
    let y = h - label;
    for (const [n, name] of [[s.low, "Low"], [s.medium, "Medium"], [s.high, "High"]]) {
      const tall = n / most * (h - label - 4);
      c.fillStyle = severityColor[name];
      c.fillRect(x, y - tall, Math.max(1, width - 1), tall);
      y -= tall;
    }
    if (s.unknown) { // no calm: hatched over its height
      c.fillStyle = "#4a4060";
      for (let hatch = 0; hatch < h - label; hatch += 4) c.fillRect(x, hatch, Math.max(1, width - 1), 1);
    }
    c.fillStyle = "#263445";
    c.fillRect(x, h - label, Math.max(1, width - 1), 1);
  });
  c.fillStyle = "#8fa1b3";
  c.font = "11px system-ui, sans-serif";
  const clock = (s) => s.time.slice(11, 19);
  const left = Math.max(0, w - states.length * width);
  c.fillText(clock(states[0]), left, h - 3);
  const last = clock(states[states.length - 1]);
  if (states.length * width > 130) c.fillText(last, w - c.measureText(last).width, h - 3);
}
