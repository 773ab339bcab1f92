// Package linkscsv reads one interval's stalls from a table in CSV: a row per
// link, a column per metric. A reader and a graph go in, a snapshot comes out.
// It opens no file.
//
// The first line names the columns, in any order:
//
//   - link: the link's number; or x, y, z (as many as the torus or mesh has
//     dimensions): its half-way point, as in 3.5,2,1 for the link that leaves
//     (3,2,1) in + direction of x (Monet, section 4.2);
//   - the rest: metrics by name (credit_stall, inq_stall, xmit_wait, ...), in
//     their unit. credit and inq are short for the first two.
//
// An empty field, or one that is no finite number by value (nan, inf), is
// missing. A link without a row is missing in every metric.
package linkscsv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// aliases are short names of metrics.
var aliases = map[string]string{"credit": "credit_stall", "inq": "inq_stall"}

var axes = []string{"x", "y", "z", "w"}

// table is what the header says.
type table struct {
	link    int   // column, or -1
	axes    []int // column by dimension, or nil
	series  []int // by column: index of its series, or -1
	linkAt  []schema.LinkID
	numbers *topology.Grid
}

// Read reads a table of the graph's links. The snapshot has no interval. Errors
// name the line and the column.
func Read(r io.Reader, g *topology.Graph) (*schema.Snapshot, error) {
	records := csv.NewReader(r)
	records.ReuseRecord, records.TrimLeadingSpace = true, true
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("links table is empty: want a header such as link,credit,inq")
	}
	if err != nil {
		return nil, fmt.Errorf("links table: %w", err)
	}
	header = slices.Clone(header)
	snap := &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Links: g.NumLinks()}
	t, err := readHeader(header, g, snap)
	if err != nil {
		return nil, err
	}
	seen := schema.NewBitmap(snap.Links)
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("links table: %w", err)
		}
		if err := t.row(record, header, snap, seen); err != nil {
			line, _ := records.FieldPos(0)
			return nil, fmt.Errorf("links table, line %d: %w", line, err)
		}
	}
	for i := range snap.Series {
		snap.Series[i].Count = snap.Series[i].Valid.Count()
		snap.Samples += snap.Series[i].Count
	}
	return snap, nil
}

func readHeader(header []string, g *topology.Graph, snap *schema.Snapshot) (*table, error) {
	t := &table{link: -1, series: make([]int, len(header))}
	for c, name := range header {
		t.series[c] = -1
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		switch axis := slices.Index(axes, name); {
		case slices.ContainsFunc(header[:c], func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) }):
			return nil, fmt.Errorf("links table: column %q stands twice", name)
		case name == "link":
			t.link = c
		case axis >= 0:
			for len(t.axes) <= axis {
				t.axes = append(t.axes, -1)
			}
			t.axes[axis] = c
		default:
			full, ok := aliases[name]
			if !ok {
				full = name
			}
			m, err := schema.ParseMetric(full)
			if err != nil {
				return nil, fmt.Errorf("links table: column %q is neither link, a coordinate nor a metric: %w", name, err)
			}
			if snap.Find(m) != nil {
				return nil, fmt.Errorf("links table: metric %s has two columns", m)
			}
			t.series[c] = len(snap.Series)
			snap.Series = append(snap.Series, schema.Series{Metric: m, Values: make([]float32, snap.Links), Valid: schema.NewBitmap(snap.Links)})
		}
	}
	switch {
	case t.link < 0 && t.axes == nil:
		return nil, errors.New("links table: no column link, and no coordinates x, y, z: which link is a row of?")
	case t.link >= 0 && t.axes != nil:
		return nil, errors.New("links table: both link and coordinates; leave one out")
	case len(snap.Series) == 0:
		return nil, errors.New("links table: no metric; want a column such as credit, inq or xmit_wait")
	case t.axes != nil:
		return t, t.prepareGrid(g)
	}
	return t, nil
}

// prepareGrid indexes the links by cell and dimension.
func (t *table) prepareGrid(g *topology.Graph) error {
	t.numbers = g.Grid()
	if t.numbers == nil || !g.Duplex() {
		return fmt.Errorf("links table: coordinates need a torus or mesh of duplex links; fabric %q is none: use a column link", g.Fabric())
	}
	k := len(t.numbers.Dims)
	if len(t.axes) != k || slices.Contains(t.axes, -1) {
		return fmt.Errorf("links table: the fabric has %d dimensions; want the columns %s", k, strings.Join(axes[:min(k, len(axes))], ","))
	}
	t.linkAt = slices.Repeat([]schema.LinkID{schema.NoLink}, k*t.numbers.Switches())
	for id := range g.NumLinks() {
		if l := g.Link(schema.LinkID(id)); l.Dim >= 0 {
			t.linkAt[t.numbers.Number(g.Device(l.From).Coord)*k+int(l.Dim)] = schema.LinkID(id)
		}
	}
	return nil
}

func (t *table) row(record, header []string, snap *schema.Snapshot, seen schema.Bitmap) error {
	link, err := t.linkOf(record, snap.Links)
	if err != nil {
		return err
	}
	if seen.Has(int(link)) {
		return fmt.Errorf("link %d has a row already", link)
	}
	seen.Set(int(link))
	for c, s := range t.series {
		field := strings.TrimSpace(record[c])
		if s < 0 || field == "" {
			continue
		}
		v, err := strconv.ParseFloat(field, 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("column %s: %q is not a number; leave the field empty where the value is missing", header[c], field)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		snap.Series[s].Values[link] = float32(v)
		snap.Series[s].Valid.Set(int(link))
	}
	return nil
}

func (t *table) linkOf(record []string, links int) (schema.LinkID, error) {
	if t.link >= 0 {
		n, err := strconv.ParseUint(strings.TrimSpace(record[t.link]), 10, 32)
		if err != nil || n >= uint64(links) {
			return 0, fmt.Errorf("link %q: want a number from 0 to %d", record[t.link], links-1)
		}
		return schema.LinkID(n), nil
	}
	cell, stride, dim := 0, 1, -1
	for d, size := range t.numbers.Dims {
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
		cell += stride * int(v)
		stride *= size
	}
	if dim < 0 {
		return 0, errors.New("no coordinate ends in .5: that is a switch, not a link")
	}
	link := t.linkAt[cell*len(t.numbers.Dims)+dim]
	if link == schema.NoLink {
		return 0, errors.New("no link is there: the mesh ends")
	}
	return link, nil
}
