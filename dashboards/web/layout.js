// Where each link is drawn: a list of rectangles, one or more per link, in
// units of a cell; the heatmap scales them to the canvas.

export function layoutOf(fabric, links) {
  return fabric.dims ? gridLayout(fabric, links) : matrixLayout(links);
}

// A torus or mesh is cut into planes along its last dimensions. In a plane the
// switch is a square (coloured by its link to the next plane), its + links of
// the first two dimensions are bars to the right and below.
function gridLayout(fabric, links) {
  const dims = fabric.dims, X = dims[0], Y = dims[1] ?? 1;
  const planes = dims.slice(2).reduce((a, b) => a * b, 1);
  const aspect = 1.5, gap = 1.2, head = planes > 1 ? Math.max(.95, X / 12) : .2; // room for a plane's name
  let best = { columns: 1, scale: 0 };
  for (let columns = 1; columns <= planes; columns++) {
    const w = columns * (X + gap), h = Math.ceil(planes / columns) * (Y + gap + head - .2);
    const scale = Math.min(aspect / w, 1 / h);
    if (scale > best.scale) best = { columns, scale };
  }
  const rects = [], titles = [];
  const origin = (plane) => [plane % best.columns * (X + gap), Math.floor(plane / best.columns) * (Y + gap + head - .2) + head];
  for (let plane = 0; plane < planes && planes > 1; plane++) {
    const [x, y] = origin(plane);
    titles.push({ x, y: y - .35, text: planeName(plane, dims) });
  }
  links.dim.forEach((dim, id) => {
    const c = links.devices[links.from[id]].coord;
    let plane = 0;
    for (let d = dims.length - 1; d >= 2; d--) plane = plane * dims[d] + c[d];
    const [ox, oy] = origin(plane), x = ox + c[0], y = oy + (c[1] ?? 0);
    if (dim === 0) rects.push({ id, x: x + .5, y: y + .14, w: .46, h: .22 });
    else if (dim === 1) rects.push({ id, x: x + .14, y: y + .5, w: .22, h: .46 });
    else rects.push({ id, x: x + .02 + (dim - 2) * .12, y: y + .02 + (dim - 2) * .12, w: .46 - (dim - 2) * .24, h: .46 - (dim - 2) * .24 });
  });
  const rows = Math.ceil(planes / best.columns);
  return { rects, titles, labels: [], gutter: 0, width: best.columns * (X + gap) - gap + .2, height: rows * (Y + gap + head - .2) };
}

function planeName(plane, dims) {
  return dims.slice(2).map((d, i) => {
    const at = plane % d;
    plane = Math.floor(plane / d);
    return "ZWVUTS"[i] + at;
  }).join(" ");
}

// Any other fabric is a matrix: a row per switch with its name, highest level first,
// a cell per port; the upper half is the link that leaves, the lower the one that
// enters.
function matrixLayout(links) {
  const ports = new Map(); // switch -> Map(port -> {out, in})
  const slot = (device, port) => {
    if (links.devices[device].kind !== "switch") return null;
    if (!ports.has(device)) ports.set(device, new Map());
    const row = ports.get(device);
    if (!row.has(port)) row.set(port, {});
    return row.get(port);
  };
  links.from.forEach((d, id) => { const s = slot(d, links.from_port[id]); if (s) s.out = id; });
  links.to.forEach((d, id) => { const s = slot(d, links.to_port[id]); if (s) s.in = id; });
  const device = (d) => links.devices[d];
  const order = [...ports.keys()].sort((a, b) => device(b).level - device(a).level || device(a).group - device(b).group || a - b);
  const widest = Math.max(1, ...order.map((d) => ports.get(d).size));
  const gutter = Math.min(8, Math.max(2, .5 * Math.max(0, ...order.map((d) => nameOf(device(d)).length)) + .5)); // room for a row's name
  const heading = headings(links, order);
  const starts = order.filter((d, i) => i === 0 || heading(d) !== heading(order[i - 1])).length;
  const perColumn = Math.max(3, Math.ceil(Math.sqrt((order.length + 1.3 * starts) * (widest + gutter + 1) / 1.5)));
  const rects = [], titles = [], labels = [];
  const head = 1.3; // rows that a heading takes
  let column = 0, y = head, tallest = 0, last = null;
  for (const d of order) {
    const text = heading(d), fresh = text !== last;
    if (y > head && y + (fresh ? 1 + head : 0) > perColumn + 1) { column++; y = head; } // a heading never stands alone at the end
    else if (fresh && y > head) y += head;
    const left = column * (gutter + widest + 1), ox = left + gutter;
    if (fresh || y === head) titles.push({ x: ox, y: y - .45, text });
    last = text;
    labels.push({ x: ox, y, text: nameOf(device(d)) });
    [...ports.get(d).entries()].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true })).forEach(([, s], p) => {
      if (s.out != null) rects.push({ id: s.out, x: ox + p, y, w: .9, h: .38 });
      if (s.in != null) rects.push({ id: s.in, x: ox + p, y: y + .42, w: .9, h: .38 });
    });
    tallest = Math.max(tallest, ++y);
  }
  return { rects, titles, labels, gutter, width: (column + 1) * (gutter + widest + 1) - 1, height: tallest };
}

export const nameOf = (device) => device.label || device.name;

// groupOf is the pod of a fat tree or the group of a dragonfly that a device is in,
// in words; empty if it is in none.
export function groupOf(links, device) {
  const kind = links.class.includes("global") ? "group" : "pod";
  return device.group >= 0 ? `${kind} ${device.group}` : "";
}

// headings names the parts of a matrix: levels by what their switches' names have in
// common, and groups where they have several switches.
function headings(links, order) {
  const stems = new Map(), sizes = new Map();
  for (const d of order) {
    const { level, group, name } = links.devices[d], stem = name.match(/^[^0-9]*/)[0].replace(/[^a-z]+$/i, "");
    stems.set(level, !stems.has(level) || stems.get(level) === stem ? stem : "");
    sizes.set(level + "/" + group, (sizes.get(level + "/" + group) ?? 0) + 1);
  }
  return (d) => {
    const { level, group } = links.devices[d];
    const kind = stems.size === 1 ? "" : stems.get(level) || (level >= 0 ? "level " + level : "");
    return [kind, sizes.get(level + "/" + group) > 1 ? groupOf(links, links.devices[d]) : ""].filter(Boolean).join(", ");
  };
}
