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
  const aspect = 1.5, gap = 1.2;
  let best = { columns: 1, scale: 0 };
  for (let columns = 1; columns <= planes; columns++) {
    const w = columns * (X + gap), h = Math.ceil(planes / columns) * (Y + gap + .6);
    const scale = Math.min(aspect / w, 1 / h);
    if (scale > best.scale) best = { columns, scale };
  }
  const rects = [], titles = [];
  const origin = (plane) => [plane % best.columns * (X + gap), Math.floor(plane / best.columns) * (Y + gap + .6) + .8];
  for (let plane = 0; plane < planes && planes > 1; plane++) {
    const [x, y] = origin(plane);
    titles.push({ x, y: y - .2, text: planeName(plane, dims) });
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
  return { rects, titles, width: best.columns * (X + gap) - gap + .2, height: rows * (Y + gap + .6) };
}

function planeName(plane, dims) {
  return dims.slice(2).map((d, i) => {
    const at = plane % d;
    plane = Math.floor(plane / d);
    return "ZWVUTS"[i] + at;
  }).join(" ");
}

// Any other fabric is a matrix: a row per switch, highest level first, a cell
// per port; the upper half is the link that leaves, the lower the one that
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
  const order = [...ports.keys()].sort((a, b) => links.devices[b].level - links.devices[a].level || a - b);
  const widest = Math.max(1, ...order.map((d) => ports.get(d).size));
  const perColumn = Math.max(1, Math.ceil(Math.sqrt(order.length * widest / 1.5)));
  const rects = [], titles = [];
  let lastLevel = null;
  order.forEach((d, i) => {
    const ox = Math.floor(i / perColumn) * (widest + 1), y = i % perColumn + .8;
    const level = links.devices[d].level;
    if (level !== lastLevel || i % perColumn === 0) titles.push({ x: ox, y: y - .12, text: level > 0 ? "level " + level : "" });
    lastLevel = level;
    [...ports.get(d).entries()].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true })).forEach(([, s], p) => {
      if (s.out != null) rects.push({ id: s.out, x: ox + p, y, w: .9, h: .38 });
      if (s.in != null) rects.push({ id: s.in, x: ox + p, y: y + .42, w: .9, h: .38 });
    });
  });
  const columns = Math.ceil(order.length / perColumn);
  return { rects, titles, width: columns * (widest + 1) - 1, height: Math.min(perColumn, order.length) + 1 };
}
