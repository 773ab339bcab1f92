// Reads what the API writes as an Arrow stream (the IPC format: flatbuffers and column buffers):
// columns of float32 of one batch, uncompressed. The reader of apache-arrow would be larger than the page.
const continuation = 0xffffffff; // marks the begin of a message
const schemaHeader = 1, batchHeader = 3, floatingPoint = 3;
const buffersPerColumn = 2; // validity, values: of numbers and times

/** Table is a table of a flatbuffer: where its fields are. */
class Table {
  constructor(private readonly v: DataView, private readonly at: number) {}

  /** field is where field i is; 0 where it has its default. */
  field(i: number): number {
    const vtable = this.at - this.v.getInt32(this.at, true), offset = 4 + 2 * i < this.v.getUint16(vtable, true) ? this.v.getUint16(vtable + 4 + 2 * i, true) : 0;
    return offset ? this.at + offset : 0;
  }

  byte(i: number) { const f = this.field(i); return f ? this.v.getUint8(f) : 0; }
  long(i: number) { const f = this.field(i); return f ? Number(this.v.getBigInt64(f, true)) : 0; }
  table(i: number) { const f = this.field(i); return new Table(this.v, f + this.v.getInt32(f, true)); }

  /** vector is where the elements of a vector begin, and how many there are. */
  vector(i: number): { at: number; n: number } {
    const f = this.field(i);
    if (!f) return { at: 0, n: 0 };
    const start = f + this.v.getInt32(f, true);
    return { at: start + 4, n: this.v.getInt32(start, true) };
  }

  text(i: number): string {
    const { at, n } = this.vector(i);
    return new TextDecoder().decode(new Uint8Array(this.v.buffer, at, n));
  }
}

/** floatColumns are the columns of float32 by name, with NaN where there is no value. */
export function floatColumns(stream: ArrayBuffer): Record<string, Float32Array> {
  const v = new DataView(stream), out: Record<string, Float32Array> = {};
  let names: (string | null)[] = [];
  for (let at = 0; at + 8 <= stream.byteLength && v.getUint32(at, true) === continuation;) {
    const length = v.getInt32(at + 4, true), start = at + 8;
    if (length === 0) break; // the end of the stream
    const message = new Table(v, start + v.getInt32(start, true)), body = start + length, header = message.byte(1);
    if (header === schemaHeader) names = namesOf(v, message.table(2));
    if (header === batchHeader) batch(v, message.table(2), body, names, out);
    at = body + message.long(3);
  }
  return out;
}

/** namesOf are the names of the columns; null for those that are no floats. */
function namesOf(v: DataView, schema: Table): (string | null)[] {
  const { at, n } = schema.vector(1);
  return Array.from({ length: n }, (_, i) => {
    const p = at + 4 * i, field = new Table(v, p + v.getInt32(p, true));
    return field.byte(2) === floatingPoint ? field.text(0) : null;
  });
}

function batch(v: DataView, record: Table, body: number, names: (string | null)[], out: Record<string, Float32Array>) {
  const rows = record.long(0), buffers = record.vector(2), long = (p: number) => Number(v.getBigInt64(p, true));
  names.forEach((name, column) => {
    if (name === null) return;
    const validity = buffers.at + 16 * buffersPerColumn * column, data = validity + 16, from = body + long(data);
    const values = new Float32Array(v.buffer.slice(from, from + 4 * rows)), bits = long(validity + 8) ? new Uint8Array(v.buffer, body + long(validity), (rows + 7) >> 3) : null;
    if (bits) for (let i = 0; i < rows; i++) if (!(bits[i >> 3] >> (i & 7) & 1)) values[i] = NaN;
    out[name] = values;
  });
}
