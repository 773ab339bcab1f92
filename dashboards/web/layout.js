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
  return { rects, titles, width: best.columns * (X + gap) - gap + .2, height: rows * (Y + gap + head - .2) };
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
  const device = (d) => links.devices[d];
  const order = [...ports.keys()].sort((a, b) => device(b).level - device(a).level || device(a).group - device(b).group || a - b);
  const widest = Math.max(1, ...order.map((d) => ports.get(d).size));
  const perColumn = Math.max(1, Math.ceil(Math.sqrt(order.length * widest / 1.5)));
  const oneLevel = order.every((d) => device(d).level === device(order[0]).level);
  const heading = (d) => !oneLevel ? "level " + device(d).level : device(d).group >= 0 ? "group " + device(d).group : "";
  const rects = [], titles = [];
  let column = 0, y = 1, tallest = 0, last = null;
  for (const d of order) {
    const text = heading(d), fresh = text !== last;
    if (y > 1 && y + (fresh ? 2 : 0) > perColumn + 1) { column++; y = 1; } // a heading never stands alone at the end
    else if (fresh && y > 1) y += .9;
    if (fresh || y === 1) titles.push({ x: column * (widest + 1), y: y - .12, text });
    last = text;
    const ox = column * (widest + 1);
    [...ports.get(d).entries()].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true })).forEach(([, s], p) => {
      if (s.out != null) rects.push({ id: s.out, x: ox + p, y, w: .9, h: .38 });
      if (s.in != null) rects.push({ id: s.in, x: ox + p, y: y + .42, w: .9, h: .38 });
    });
    tallest = Math.max(tallest, ++y);
  }
  return { rects, titles, width: (column + 1) * (widest + 1) - 1, height: tallest };
}
