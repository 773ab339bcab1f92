// A plane drawing of a fabric in units of its own; the flat view scales it to the screen.

/** Items are links drawn as rectangles (x, y, width, height) or as lines (x1, y1, x2, y2): four numbers each. */
interface Items { link: Uint32Array; geo: Float32Array }

interface Label { x: number; y: number; text: string; align: CanvasTextAlign; size: number; room: number; short?: string[]; least?: number }

export interface FlatLayout {
  width: number;
  height: number;
  rects: Items;
  lines: Items;
  nodes: { device: Uint32Array; geo: Float32Array }; // x, y, width, height
  /** frames are boxes with a name, at their top, low at their bottom, or above them. */
  frames: { x: number; y: number; w: number; h: number; text: string; low?: boolean; above?: boolean }[];
  /** labels have the height of their letters and the room for them in units of the drawing; short is what is written where the text does not fit, the longest first, least the letters' height in pixels on however small a drawing. */
  labels: Label[];
  /** summary is what the drawing shows, in words. */
  summary: string;
}

export class Builder {
  private rectLinks: number[] = [];
  private rectGeo: number[] = [];
  private lineLinks: number[] = [];
  private lineGeo: number[] = [];
  private nodeDevices: number[] = [];
  private nodeGeo: number[] = [];
  readonly frames: FlatLayout["frames"] = [];
  readonly labels: Label[] = [];

  rect(link: number, x: number, y: number, w: number, h: number) { this.rectLinks.push(link); this.rectGeo.push(x, y, w, h); }
  line(link: number, x1: number, y1: number, x2: number, y2: number) { this.lineLinks.push(link); this.lineGeo.push(x1, y1, x2, y2); }
  node(device: number, x: number, y: number, w: number, h: number) { this.nodeDevices.push(device); this.nodeGeo.push(x, y, w, h); }
  label(text: string, x: number, y: number, size: number, align: CanvasTextAlign = "left", room = Infinity, short: string[] = [], least?: number) { this.labels.push({ x, y, text, align, size, room, short, least }); }

  build(width: number, height: number, summary: string): FlatLayout {
    const items = (links: number[], geo: number[]): Items => ({ link: Uint32Array.from(links), geo: Float32Array.from(geo) });
    return {
      width, height, rects: items(this.rectLinks, this.rectGeo), lines: items(this.lineLinks, this.lineGeo),
      nodes: { device: Uint32Array.from(this.nodeDevices), geo: Float32Array.from(this.nodeGeo) }, frames: this.frames, labels: this.labels, summary,
    };
  }
}
