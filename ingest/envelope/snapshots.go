package envelope

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/giverny/giverny/schema"
)

// Snapshot appends the payload of a snapshot to dst. A large fabric with many metrics may be TooLarge for
// one payload.
func (e *Encoder) Snapshot(dst []byte, s *schema.Snapshot) ([]byte, error) {
	if err := checkSnapshot(s); err != nil {
		return dst, err
	}
	var w metaWriter
	w.text(schema.MetaFabric, s.Fabric)
	w.unsigned(metaGraphVersion, s.GraphVersion)
	w.signed(metaIntervalStart, s.Interval.StartNanos)
	w.signed(schema.MetaInterval, s.Interval.DurationNanos)
	w.signed(metaFirstRead, s.FirstReadNanos)
	w.signed(metaLastRead, s.LastReadNanos)
	w.signed(metaSamples, int64(s.Samples))
	columns := make([]arrow.Array, len(s.Series))
	for i := range s.Series {
		columns[i] = fixed(arrow.PrimitiveTypes.Float32, s.Series[i].Values, s.Series[i].Valid)
	}
	return e.write(dst, Snapshots, schema.SnapshotArrow(s, w.metadata()), s.Links, columns)
}

func checkSnapshot(s *schema.Snapshot) error {
	if err := checkName("fabric", s.Fabric); err != nil {
		return err
	}
	if s.Links > MaxRows || len(s.Series) == 0 {
		return refuse(BadRows, "snapshot of %d links with %d metrics, want up to %d links and at least one metric", s.Links, len(s.Series), MaxRows)
	}
	var seen [schema.NumMetrics]bool
	for i := range s.Series {
		r := &s.Series[i]
		if r.Metric == schema.NoMetric || int(r.Metric) >= schema.NumMetrics || seen[r.Metric] {
			return refuse(BadSchema, "metric %s is unknown or stands twice", r.Metric)
		}
		seen[r.Metric] = true
		if len(r.Values) != s.Links || len(r.Valid)*64 < s.Links {
			return refuse(BadRows, "metric %s has %d values and %d bits for %d links", r.Metric, len(r.Values), 64*len(r.Valid), s.Links)
		}
	}
	return nil
}

// Snapshot reads a snapshot. It is the caller's own, as one who hands it on needs it to be.
func (d *Decoder) Snapshot(payload []byte) (*schema.Snapshot, error) {
	s := new(schema.Snapshot)
	err := d.read(payload, Snapshots, func(h Header, record arrow.Record) error {
		meta := metaReader{meta: record.Schema().Metadata()}
		s.Fabric = meta.name(schema.MetaFabric)
		s.GraphVersion = meta.unsigned(metaGraphVersion)
		s.Interval = schema.Interval{StartNanos: meta.signed(metaIntervalStart), DurationNanos: meta.signed(schema.MetaInterval)}
		s.FirstReadNanos, s.LastReadNanos = meta.signed(metaFirstRead), meta.signed(metaLastRead)
		s.Samples = int(meta.signed(metaSamples))
		s.Links = h.Rows
		if meta.err != nil {
			return meta.err
		}
		if err := readSeries(record, s); err != nil {
			return err
		}
		if err := sameColumns(record.Schema(), schema.SnapshotArrow(s, record.Schema().Metadata())); err != nil {
			return err
		}
		return checkSnapshot(s)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func readSeries(record arrow.Record, s *schema.Snapshot) error {
	s.Series = make([]schema.Series, record.NumCols())
	for i := range s.Series {
		r, data := &s.Series[i], record.Column(i).Data()
		var err error
		if r.Metric, err = schema.ParseMetric(record.ColumnName(i)); err != nil {
			return refuse(BadSchema, "%v", err)
		}
		if data.DataType().ID() != arrow.FLOAT32 {
			return refuse(BadSchema, "metric %s is %s, want float32", r.Metric, data.DataType())
		}
		column, err := values[float32](data, s.Links)
		if err != nil {
			return err
		}
		r.Values = append(make([]float32, 0, s.Links), column...)
		if r.Valid, err = validity(data, s.Links, nil); err != nil {
			return err
		}
		if r.Valid == nil {
			r.Valid = all(s.Links)
		}
		r.Count = r.Valid.Count()
	}
	return nil
}

func all(n int) schema.Bitmap {
	b := schema.NewBitmap(n)
	for i := range n {
		b.Set(i)
	}
	return b
}
