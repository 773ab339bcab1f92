package dashboards

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Times of tables are nanoseconds since 1970, UTC.
var instants = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}

// linkColumns returns the columns of a table of link values: time, link, and one per metric in the metric's unit,
// null where the value is missing.
func linkColumns(metrics []schema.Metric) []arrow.Field {
	columns := []arrow.Field{{Name: "time", Type: instants}, {Name: "link", Type: arrow.PrimitiveTypes.Uint32}}
	for _, m := range metrics {
		columns = append(columns, arrow.Field{Name: m.String(), Type: arrow.PrimitiveTypes.Float32, Nullable: true})
	}
	return columns
}

// ofGraph returns table metadata that identifies the graph which numbers the links.
func ofGraph(fabric string, version read.Version) *arrow.Metadata {
	m := arrow.MetadataFrom(map[string]string{"fabric": fabric, "graph_version": version.String()})
	return &m
}

// tableWriter writes rows as Arrow or CSV, batch by batch.
type tableWriter struct {
	build *array.RecordBuilder
	out   recordWriter
}

type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

func newTableWriter(w io.Writer, format string, columns []arrow.Field, meta *arrow.Metadata) *tableWriter {
	s := arrow.NewSchema(columns, meta)
	t := &tableWriter{build: array.NewRecordBuilder(memory.DefaultAllocator, s)}
	if format == operation.CSV {
		t.out = newCSVWriter(w, s)
	} else {
		t.out = ipc.NewWriter(w, ipc.WithSchema(s))
	}
	return t
}

// flush writes the appended rows as one batch.
func (t *tableWriter) flush() error {
	record := t.build.NewRecord()
	defer record.Release()
	return t.out.Write(record)
}

func (t *tableWriter) close() error {
	t.build.Release()
	return t.out.Close()
}

// appendLinks appends the values of an interval, link by link.
func (t *tableWriter) appendLinks(start schema.Instant, links int, series []*schema.Series) {
	times, numbers := t.build.Field(0).(*array.TimestampBuilder), t.build.Field(1).(*array.Uint32Builder)
	times.Reserve(links)
	numbers.Reserve(links)
	for l := range links {
		times.UnsafeAppend(arrow.Timestamp(start))
		numbers.UnsafeAppend(uint32(l))
	}
	for i, s := range series {
		values := t.build.Field(2 + i).(*array.Float32Builder)
		values.Reserve(links)
		for l := range links {
			if s == nil || !s.Valid.Has(l) {
				values.UnsafeAppendBoolToBitmap(false)
			} else {
				values.UnsafeAppend(s.Values[l])
			}
		}
	}
}

// WriteTable writes a row per link.
func (s *snapshot) WriteTable(w io.Writer, format string) error {
	var metrics []schema.Metric
	var series []*schema.Series
	for i := range s.series {
		metrics, series = append(metrics, s.series[i].Metric), append(series, &s.series[i])
	}
	t := newTableWriter(w, format, linkColumns(metrics), ofGraph(s.fabric, s.GraphVersion))
	t.appendLinks(s.Interval.Start, s.links, series)
	if err := t.flush(); err != nil {
		return err
	}
	return t.close()
}

// NextCursor is the cursor of the next page, which has older rows.
func (p *regionPage) NextCursor() string { return p.Next }

// WriteTable writes a row per region and interval.
func (p *regionPage) WriteTable(w io.Writer, format string) error {
	text, number := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64
	meta := arrow.MetadataFrom(map[string]string{"fabric": p.fabric, "next": p.Next})
	t := newTableWriter(w, format, []arrow.Field{{Name: "time", Type: instants}, {Name: "graph_version", Type: text}, {Name: "region", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "metric", Type: text}, {Name: "severity", Type: text}, {Name: "name", Type: text}, {Name: "mean_percent", Type: number}, {Name: "max_percent", Type: number},
		{Name: "birth", Type: instants}, {Name: "age_intervals", Type: arrow.PrimitiveTypes.Uint32}, {Name: "links", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint32)},
		{Name: "root_device", Type: text}, {Name: "root_port", Type: text}, {Name: "root_peer", Type: text}, {Name: "root_kind", Type: text},
		{Name: "unread", Type: arrow.PrimitiveTypes.Uint32}}, &meta)
	for i := range p.Regions {
		t.appendRegion(&p.Regions[i])
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.close()
}

func (t *tableWriter) appendRegion(r *read.RegionAt) {
	column := t.build.Field
	column(0).(*array.TimestampBuilder).Append(arrow.Timestamp(r.Time))
	column(1).(*array.StringBuilder).Append(r.GraphVersion.String())
	column(2).(*array.Uint64Builder).Append(r.Region.ID)
	for i, text := range []string{r.Region.Metric.String(), r.Region.Severity.String(), r.Region.Name} {
		column(3 + i).(*array.StringBuilder).Append(text)
	}
	column(6).(*array.Float64Builder).Append(r.Region.Mean)
	column(7).(*array.Float64Builder).Append(r.Region.Max)
	column(8).(*array.TimestampBuilder).Append(arrow.Timestamp(r.Region.BirthNanos))
	column(9).(*array.Uint32Builder).Append(uint32(r.Region.AgeIntervals))
	list := column(10).(*array.ListBuilder)
	list.Append(true)
	for _, l := range r.Region.Links {
		list.ValueBuilder().(*array.Uint32Builder).Append(uint32(l))
	}
	root := cmp.Or(r.Region.Root, &schema.Root{})
	for i, text := range []string{root.Device, root.Port, root.Peer, root.Kind} {
		column(11 + i).(*array.StringBuilder).Append(text)
	}
	column(15).(*array.Uint32Builder).Append(uint32(r.Region.Unread))
}

// maxBulkValues limits the number of values in one response.
const maxBulkValues = 200_000_000

// valuesAtOnce limits how many values are in memory between reading and writing.
const valuesAtOnce = 1_000_000

// bulkTimeout is the time limit of such a response.
const bulkTimeout = 10 * time.Minute

type linkValueParameters struct {
	overSpan
	inVersion
	Metrics []schema.Metric `query:"metrics" required:"true" doc:"metrics, separated by commas"`
}

// linkValues is a response with the values of all links in the intervals of a span, which are read while it is written.
type linkValues struct {
	write func(w io.Writer, format string) error
}

// WriteTable writes a batch per interval and a row per link.
func (v *linkValues) WriteTable(w io.Writer, format string) error { return v.write(w, format) }

// linkValues returns the values of the intervals of a span that belong to one version of the graph.
func (d *Dashboards) linkValues(ctx context.Context, p *linkValueParameters) (*linkValues, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	version, err := d.versionOf(ctx, q.fabric, p.inVersion)
	if err != nil {
		return nil, err
	}
	g, err := q.fabric.graphs.of(ctx, version)
	if err != nil {
		return nil, err
	}
	values := float64(q.span.To-q.span.From) / float64(q.fabric.interval) * float64(g.NumLinks()) * float64(len(p.Metrics))
	if values > maxBulkValues {
		return nil, problem.BadRequest("%v to %v are about %.0f values: want at most %d; request a shorter span or fewer metrics", q.span.From, q.span.To, values, maxBulkValues)
	}
	intervals, err := d.model.Intervals(ctx, q.fabric.name, q.span)
	if err != nil {
		return nil, err
	}
	return &linkValues{func(w io.Writer, format string) error {
		t := newTableWriter(w, format, linkColumns(p.Metrics), ofGraph(q.fabric.name, version))
		intervals := slices.DeleteFunc(intervals, func(s read.Stored) bool { return read.Version(s.GraphVersion) != version })
		for some := range slices.Chunk(intervals, max(1, valuesAtOnce/(1+g.NumLinks()*len(p.Metrics)))) {
			snaps, err := d.model.Snapshots(ctx, q.fabric.name, some, slices.Clone(p.Metrics)...)
			if err != nil {
				return err
			}
			for _, snap := range snaps {
				if err := t.writeSnapshot(snap, p.Metrics); err != nil {
					return err
				}
			}
		}
		return t.close()
	}}, nil
}

// writeSnapshot writes an interval's values of some metrics as one batch.
func (t *tableWriter) writeSnapshot(snap *schema.Snapshot, metrics []schema.Metric) error {
	series := make([]*schema.Series, len(metrics))
	for i, m := range metrics {
		series[i] = snap.Find(m)
	}
	t.appendLinks(schema.Instant(snap.Interval.StartNanos), snap.Links, series)
	return t.flush()
}
