// Package linkscsv reads and writes the stalls of a fabric's links as a CSV table: a row per link and
// interval, a column per metric. Reading converts a reader and a graph to a snapshot per interval; writing is
// the reverse. It opens no file.
//
// The first line names the columns, in any order:
//
//   - link: the link's number; or device and port: the names of the port that
//     the link leaves (device may be a GUID); or x, y, z (as many as the torus
//     or mesh has dimensions): its half-way point, as in 3.5,2,1 for the link
//     that leaves (3,2,1) in + direction of x (Monet, section 4.2);
//   - time, optional: the start of the interval, in RFC 3339 or in seconds since
//     1970. Rows of one interval are consecutive with equal times, and intervals
//     are in order. Without it the table is one interval;
//   - the rest: metrics by name (credit_stall, inq_stall, xmit_wait, ...), in
//     their unit. credit and inq are short for the first two.
//
// Lines that begin with # are comments; the header may be repeated, as in files that were appended. An empty field, a negative one, or one that is not a finite number (nan, inf) is missing. A stall above 100
// % of the time counts as 100 %. A link without a row is missing in every metric. The name ending .gz or .zst
// indicates compression.
package linkscsv

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/giverny/giverny/internal/csvfault"
	"github.com/giverny/giverny/internal/decompress"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// shortNames are accepted short column names; Giverny writes the full names.
var shortNames = map[string]schema.Metric{"credit": schema.CreditStall, "inq": schema.InqStall}

var axes = []string{"x", "y", "z", "w"}

// table is the state of reading a table.
type table struct {
	records *csvfault.Reader
	graph   *topology.Graph

	// From the header.
	header  []string
	time    int   // column, or -1
	link    int   // column, or -1
	device  int   // column, or -1
	port    int   // column, or -1
	axes    []int // column by dimension, or nil
	series  []int // by column: index of its series, or -1
	metrics []schema.Metric
	linkAt  []schema.LinkID // by cell and dimension, for axes
	grid    *topology.Grid

	// The current interval.
	snapshot *schema.Snapshot // nil before the first row, if there is a time column
	seen     schema.Bitmap    // by link: has a row
	timeText string           // of the last row

	// Of the whole table.
	unusable, over int // values treated as missing, and as 100 %
	extent         extent
}

// Intervals reads a table of the graph's links, interval by interval. The table has no interval durations, and without a
// time column no start: they are 0. An error ends the table and names the file, the line and the column. The ending of
// name indicates compression. After the last interval report is called if there were values out of range, with their
// number and treatment, and if the table seems to be of a smaller fabric.
func Intervals(name string, r io.Reader, g *topology.Graph, report func(line string)) iter.Seq2[*schema.Snapshot, error] {
	return func(yield func(*schema.Snapshot, error) bool) {
		failed := func(err error) { yield(nil, fmt.Errorf("%s: links table%w", name, err)) }
		plain, err := decompress.Reader(name, r)
		if err != nil {
			failed(fmt.Errorf(": %w", err))
			return
		}
		defer plain.Close()
		t, err := open(plain, g)
		if err != nil {
			failed(err)
			return
		}
		for {
			snapshot, err := t.next()
			if errors.Is(err, io.EOF) {
				if t.unusable+t.over > 0 {
					report(fmt.Sprintf("%s: values out of range: below 0 or not finite, taken as missing: %d; stalls above 100 %%, taken as 100 %%: %d", name, t.unusable, t.over))
				}
				if line := t.smaller(); line != "" {
					report(name + ": " + line)
				}
				return
			}
			if err != nil {
				failed(err)
				return
			}
			if !yield(snapshot, nil) {
				return
			}
		}
	}
}

func open(r io.Reader, g *topology.Graph) (*table, error) {
	t := &table{records: csvfault.NewReader(r), graph: g, time: -1, link: -1, device: -1, port: -1}
	t.records.ReuseRecord, t.records.TrimLeadingSpace, t.records.Comment = true, true, '#'
	header, err := t.records.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New(" is empty: want a header such as link,credit,inq")
	}
	if err != nil {
		return nil, t.located(err, header)
	}
	t.header = slices.Clone(header)
	t.header[0] = strings.TrimPrefix(t.header[0], "\ufeff")
	if err := t.readHeader(); err != nil {
		return nil, fmt.Errorf(", header: %w", err)
	}
	if t.time < 0 {
		t.begin(0)
	}
	return t, nil
}

// located adds the line to a CSV error.
func (t *table) located(err error, record []string) error {
	line, fault := csvfault.Explain(err, t.records, record)
	if line == 0 {
		return fmt.Errorf(": %w", fault)
	}
	return fmt.Errorf(", line %d: %w", line, fault)
}

// begin creates the snapshot of an interval.
func (t *table) begin(startNanos int64) {
	n := t.graph.NumLinks()
	t.snapshot = &schema.Snapshot{Fabric: t.graph.Fabric(), GraphVersion: t.graph.Version(), Links: n, Interval: schema.Interval{StartNanos: startNanos}}
	for _, m := range t.metrics {
		t.snapshot.Series = append(t.snapshot.Series, schema.Series{Metric: m, Values: make([]float32, n), Valid: schema.NewBitmap(n)})
	}
	t.seen = schema.NewBitmap(n)
}

// next reads to the end of an interval, including the first row of the following one;
// after the last it returns io.EOF.
func (t *table) next() (*schema.Snapshot, error) {
	for {
		record, err := t.records.Read()
		if errors.Is(err, io.EOF) {
			whole := t.snapshot
			if t.snapshot = nil; whole == nil {
				return nil, io.EOF
			}
			return counted(whole), nil
		}
		if err != nil {
			return nil, t.located(err, record)
		}
		if slices.Equal(record, t.header) { // of a file that was appended
			continue
		}
		whole, err := t.turn(record)
		if err == nil {
			err = t.row(record)
		}
		if err != nil {
			line, _ := t.records.FieldPos(0)
			return nil, fmt.Errorf(", line %d: %w", line, err)
		}
		if whole != nil {
			return counted(whole), nil
		}
	}
}

// turn starts a new interval if the row belongs to one, and returns the completed one.
func (t *table) turn(record []string) (whole *schema.Snapshot, err error) {
	if t.time < 0 || t.snapshot != nil && record[t.time] == t.timeText {
		return nil, nil
	}
	start, err := schema.ParseInstant(strings.TrimSpace(record[t.time]), nil)
	if strings.TrimSpace(record[t.time]) == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("column time: %w", err)
	}
	t.timeText = strings.Clone(record[t.time])
	whole = t.snapshot
	if whole != nil {
		switch before := schema.Instant(whole.Interval.StartNanos); {
		case start == before: // the same time in another spelling
			return nil, nil
		case start < before:
			return nil, fmt.Errorf("time %s comes after %s: want the rows of an interval together, and intervals in order", start, before)
		}
	}
	t.begin(int64(start))
	return whole, nil
}

// counted sets the counts of a snapshot.
func counted(s *schema.Snapshot) *schema.Snapshot {
	for i := range s.Series {
		s.Series[i].Count = s.Series[i].Valid.Count()
		s.Samples += s.Series[i].Count
	}
	return s
}

func (t *table) readHeader() error {
	t.series = make([]int, len(t.header))
	for c, name := range t.header {
		t.series[c] = -1
		name = strings.ToLower(strings.TrimSpace(name))
		switch axis := slices.Index(axes, name); {
		case slices.ContainsFunc(t.header[:c], func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) }):
			return fmt.Errorf("column %q is duplicated", name)
		case name == "time":
			t.time = c
		case name == "link":
			t.link = c
		case name == "device":
			t.device = c
		case name == "port":
			t.port = c
		case axis >= 0:
			for len(t.axes) <= axis {
				t.axes = append(t.axes, -1)
			}
			t.axes[axis] = c
		default:
			m, known := shortNames[name]
			var err error
			if !known {
				m, err = schema.ParseMetric(name)
			}
			if err != nil {
				return fmt.Errorf("column %.60q is neither time, link, device, port, a coordinate nor a metric; %s", name, headerHint(name))
			}
			if slices.Contains(t.metrics, m) {
				return fmt.Errorf("metric %s has two columns", m)
			}
			t.series[c] = len(t.metrics)
			t.metrics = append(t.metrics, m)
		}
	}
	named := t.device >= 0
	switch {
	case named != (t.port >= 0):
		return errors.New("one of the columns device and port; want both: the port that the link leaves")
	case t.link < 0 && !named && t.axes == nil:
		return errors.New("no column link, no columns device and port, and no coordinates x, y, z; want one of these to identify the link of a row")
	case t.link >= 0 && (named || t.axes != nil), named && t.axes != nil:
		return errors.New("more than one of link, device with port, and coordinates; keep one of them")
	case len(t.metrics) == 0:
		return errors.New("no metric; want a column such as credit, inq or xmit_wait")
	case t.axes != nil:
		return t.prepareGrid()
	}
	return nil
}

// prepareGrid indexes the links by cell and dimension.
func (t *table) prepareGrid() error {
	g := t.graph
	t.grid = g.Grid()
	if t.grid == nil || !g.Duplex() {
		return fmt.Errorf("coordinates need a torus or mesh of duplex links; fabric %q is not one: use a column link", g.Fabric())
	}
	k := len(t.grid.Dims)
	if len(t.axes) != k || slices.Contains(t.axes, -1) {
		return fmt.Errorf("the fabric has %d dimensions; want the columns %s", k, strings.Join(axes[:min(k, len(axes))], ","))
	}
	t.linkAt = slices.Repeat([]schema.LinkID{schema.NoLink}, k*t.grid.Switches())
	for id := range g.NumLinks() {
		if l := g.Link(schema.LinkID(id)); l.Dim >= 0 {
			t.linkAt[t.grid.Number(g.Device(l.From).Coord)*k+int(l.Dim)] = schema.LinkID(id)
		}
	}
	return nil
}

// headerHint advises on an unknown column.
func headerHint(name string) string {
	switch {
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "the file is not UTF-8: convert it, with iconv say"
	case strings.ContainsAny(name, ";\t|"):
		return "separate columns by commas"
	}
	return "want a header such as device,port,xmit_wait or link,pfc_pause_rx_prio3 (docs/reference/counters.md lists all metrics)"
}

func (t *table) row(record []string) error {
	link, err := t.linkOf(record)
	if err != nil {
		return err
	}
	if t.seen.Has(int(link)) {
		return fmt.Errorf("link %d has a row already; delete one of the two", link)
	}
	t.seen.Set(int(link))
	for c, s := range t.series {
		field := strings.TrimSpace(record[c])
		if s < 0 || field == "" {
			continue
		}
		v, err := strconv.ParseFloat(field, 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("column %s: %q is not a number; leave the field empty where the value is missing", t.header[c], field)
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			t.unusable++
			continue
		case v > 100 && t.metrics[s].IsStall():
			t.over++
			v = 100
		}
		t.snapshot.Series[s].Values[link] = float32(v)
		t.snapshot.Series[s].Valid.Set(int(link))
	}
	return nil
}

func (t *table) linkOf(record []string) (schema.LinkID, error) {
	if t.device >= 0 {
		return t.portLink(strings.TrimSpace(record[t.device]), strings.TrimSpace(record[t.port]))
	}
	if t.link >= 0 {
		links := t.graph.NumLinks()
		n, err := strconv.ParseUint(strings.TrimSpace(record[t.link]), 10, 32)
		if err != nil || n >= uint64(links) {
			return 0, fmt.Errorf("link %q: want a number from 0 to %d; check that this table belongs to the given topology", record[t.link], links-1)
		}
		t.extent.note(links, schema.LinkID(n), int(n))
		return schema.LinkID(n), nil
	}
	cell, stride, dim, at := 0, 1, -1, make([]int, 0, 4)
	for d, size := range t.grid.Dims {
		field := strings.TrimSpace(record[t.axes[d]])
		v, err := strconv.ParseFloat(field, 64)
		doubled := 2 * v
		if err != nil || doubled != math.Trunc(doubled) || v < 0 || v >= float64(size) {
			return 0, fmt.Errorf("coordinate %s = %q: want a multiple of 0.5 from 0 to less than %d", axes[d], field, size)
		}
		if int(doubled)%2 == 1 {
			if dim >= 0 {
				return 0, fmt.Errorf("two coordinates end in .5; a link's half-way point has one")
			}
			dim = d
		}
		at = append(at, int(v))
		cell += stride * int(v)
		stride *= size
	}
	if dim < 0 {
		return 0, errors.New("no coordinate ends in .5: this is a switch, not a link")
	}
	link := t.linkAt[cell*len(t.grid.Dims)+dim]
	if link == schema.NoLink {
		return 0, errors.New("no link there: it is beyond the edge of the mesh")
	}
	t.extent.note(t.graph.NumLinks(), link, at...)
	return link, nil
}
