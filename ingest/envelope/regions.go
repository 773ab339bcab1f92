package envelope

import (
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/giverny/giverny/schema"
)

// RegionSet is the regions of one fabric in one interval; an empty set is sent too.
type RegionSet struct {
	Fabric       string
	GraphVersion uint64
	Interval     schema.Interval
	Regions      []schema.Region
	Unknown      *schema.Unknown // why the network's state is unknown, without its detail; nil if it is known
	// Revision is 0 at first; a higher one replaces what was sent before.
	Revision uint32
}

// maxBoxDimensions limits a bounding box: tori have up to six dimensions.
const maxBoxDimensions = 16

// Regions appends the payload of a set of regions to dst.
func (e *Encoder) Regions(dst []byte, set *RegionSet) ([]byte, error) {
	if err := checkName("fabric", set.Fabric); err != nil {
		return dst, err
	}
	b := regionBuilder{texts: e.emptyTexts(7)}
	for i := range set.Regions {
		if err := b.add(&set.Regions[i]); err != nil {
			return dst, err
		}
	}
	if len(b.links.values) > maxElements {
		return dst, refuse(TooLarge, "regions of %d links together, the limit is %d", len(b.links.values), maxElements)
	}
	var w metaWriter
	w.text(schema.MetaFabric, set.Fabric)
	w.unsigned(metaGraphVersion, set.GraphVersion)
	w.signed(metaIntervalStart, set.Interval.StartNanos)
	w.signed(schema.MetaInterval, set.Interval.DurationNanos)
	if u := set.Unknown; u != nil {
		w.text(metaUnknown, string(u.Reason))
		w.signed(metaUnknownSince, int64(u.Since))
	}
	w.unsigned(metaRevision, uint64(set.Revision))
	meta := w.metadata()
	s := arrow.NewSchema(schema.RegionArrow.Fields(), &meta)
	return e.write(dst, Regions, s, len(set.Regions), []arrow.Array{
		fixed(arrow.PrimitiveTypes.Uint64, b.ids, nil),
		b.texts[0].column(), b.texts[1].column(),
		fixed(arrow.PrimitiveTypes.Float64, b.means, nil),
		fixed(arrow.PrimitiveTypes.Float64, b.maxima, nil),
		b.texts[2].column(),
		fixed(arrow.PrimitiveTypes.Int64, b.ages, nil),
		fixed(arrow.PrimitiveTypes.Int64, b.births, nil),
		b.links.column(s.Field(8).Type, arrow.PrimitiveTypes.Uint32),
		b.low.column(s.Field(9).Type, arrow.PrimitiveTypes.Int32),
		b.high.column(s.Field(10).Type, arrow.PrimitiveTypes.Int32),
		fixed(arrow.PrimitiveTypes.Int64, b.growth, nil),
		fixed(arrow.PrimitiveTypes.Float64, b.trends, nil),
		b.next.column(s.Field(13).Type, arrow.PrimitiveTypes.Float64),
		b.later.column(s.Field(14).Type, arrow.PrimitiveTypes.Float64),
		b.texts[3].column(), b.texts[4].column(),
		fixed(arrow.PrimitiveTypes.Uint32, b.rootLinks, nil),
		b.texts[5].column(), b.texts[6].column(),
		fixed(arrow.PrimitiveTypes.Uint32, b.unread, nil),
	})
}

type regionBuilder struct {
	ids           []uint64
	means, maxima []float64
	ages, births  []int64
	texts         []textBuilder // metric, severity, name, root device, port, peer and kind
	links         listBuilder[uint32]
	low, high     listBuilder[int32]
	growth        []int64
	trends        []float64
	next, later   listBuilder[float64]
	rootLinks     []uint32
	unread        []uint32
}

func (b *regionBuilder) add(r *schema.Region) error {
	if r.Metric == schema.NoMetric || int(r.Metric) >= schema.NumMetrics {
		return refuse(BadRows, "region %d has no metric", r.ID)
	}
	if err := checkText("name", r.Name, maxTextBytes); err != nil {
		return err
	}
	if err := checkNumbers(r); err != nil {
		return err
	}
	b.ids = append(b.ids, r.ID)
	b.means, b.maxima = append(b.means, r.Mean), append(b.maxima, r.Max)
	b.unread = append(b.unread, uint32(max(0, r.Unread)))
	b.ages, b.births = append(b.ages, int64(r.AgeIntervals)), append(b.births, r.BirthNanos)
	b.texts[0].add(r.Metric.String())
	b.texts[1].add(r.Severity.String())
	b.texts[2].add(r.Name)
	for _, link := range r.Links {
		b.links.values = append(b.links.values, uint32(link))
	}
	if box := r.Box; box != nil {
		if len(box.Min) == 0 || len(box.Min) > maxBoxDimensions || len(box.Max) != len(box.Min) {
			return refuse(BadRows, "region %d has a box of %d and %d dimensions", r.ID, len(box.Min), len(box.Max))
		}
		for i := range box.Min {
			if box.Min[i] != int(int32(box.Min[i])) || box.Max[i] != int(int32(box.Max[i])) {
				return refuse(BadRows, "region %d has a box beyond 32 bits", r.ID)
			}
			b.low.values = append(b.low.values, int32(box.Min[i]))
			b.high.values = append(b.high.values, int32(box.Max[i]))
		}
	}
	b.links.end()
	b.low.end()
	b.high.end()
	b.addForecast(r.Forecast)
	return b.addRoot(r.Root)
}

func (b *regionBuilder) addForecast(o *schema.Forecast) {
	growth, trend := 0, 0.
	if o != nil {
		growth, trend = o.GrowthLinks, o.TrendPercent
		b.next.values, b.later.values = append(b.next.values, o.Next[:]...), append(b.later.values, o.Later[:]...)
	}
	b.growth, b.trends = append(b.growth, int64(growth)), append(b.trends, trend)
	b.next.end()
	b.later.end()
}

func (b *regionBuilder) addRoot(root *schema.Root) error {
	if root == nil {
		root = &schema.Root{}
	}
	for i, text := range [...]string{root.Device, root.Port, root.Peer, root.Kind} {
		if err := checkText("root", text, MaxNameBytes); err != nil {
			return err
		}
		b.texts[3+i].add(text)
	}
	b.rootLinks = append(b.rootLinks, uint32(root.Link))
	return nil
}

// listBuilder builds a column of lists of numbers.
type listBuilder[T arrow.NumericType] struct {
	ends   []int32
	values []T
}

func (b *listBuilder[T]) end() { b.ends = append(b.ends, int32(len(b.values))) }

func (b *listBuilder[T]) column(list, element arrow.DataType) arrow.Array {
	return listOf(list, append([]int32{0}, b.ends...), fixed(element, b.values, nil))
}

// Regions decodes a set of regions. The caller owns it.
func (d *Decoder) Regions(payload []byte) (*RegionSet, error) {
	set := new(RegionSet)
	err := d.read(payload, Regions, func(h Header, record arrow.Record) error {
		meta := metaReader{meta: record.Schema().Metadata()}
		set.Fabric = meta.name(schema.MetaFabric)
		set.GraphVersion = meta.unsigned(metaGraphVersion)
		set.Interval = schema.Interval{StartNanos: meta.signed(metaIntervalStart), DurationNanos: meta.signed(schema.MetaInterval)}
		if meta.meta.FindKey(metaUnknown) >= 0 {
			set.Unknown = &schema.Unknown{Reason: schema.UnknownReason(meta.name(metaUnknown)), Since: schema.Instant(meta.signed(metaUnknownSince))}
		}
		if meta.has(metaRevision) { // absent in payloads from before revisions existed
			set.Revision = uint32(min(meta.unsigned(metaRevision), math.MaxUint32))
		}
		if meta.err != nil {
			return meta.err
		}
		r := &reader{record: record, rows: h.Rows}
		want := schema.RegionArrow
		for _, older := range schema.OlderRegionArrows {
			if record.Schema().NumFields() == older.NumFields() {
				want = older
			}
		}
		if err := sameColumns(record.Schema(), want); err != nil {
			return err
		}
		if err := set.read(r); err != nil {
			return err
		}
		if err := set.readRoots(r, want.NumFields()); err != nil {
			return err
		}
		return set.readUnread(r, want.NumFields())
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

func (set *RegionSet) read(r *reader) error {
	ids, means, maxima := numbers[uint64](r, 0), numbers[float64](r, 3), numbers[float64](r, 4)
	metrics, severities, names := r.texts(1, 1, MaxNameBytes), r.texts(2, 1, MaxNameBytes), r.texts(5, 0, maxTextBytes)
	ages, births := numbers[int64](r, 6), numbers[int64](r, 7)
	links, low, high := readList[uint32](r, 8), readList[int32](r, 9), readList[int32](r, 10)
	growth, trends := numbers[int64](r, 11), numbers[float64](r, 12)
	next, later := readList[float64](r, 13), readList[float64](r, 14)
	if r.err != nil {
		return r.err
	}
	set.Regions = make([]schema.Region, r.rows)
	for i := range set.Regions {
		region := &set.Regions[i]
		*region = schema.Region{ID: ids[i], Mean: means[i], Max: maxima[i], Name: string(names.at(i)),
			AgeIntervals: int(ages[i]), BirthNanos: births[i], Size: len(links.at(i))}
		if err := region.Metric.UnmarshalText(metrics.at(i)); err != nil {
			return refuse(BadRows, "%v", err)
		}
		if err := region.Severity.UnmarshalText(severities.at(i)); err != nil {
			return refuse(BadRows, "%v", err)
		}
		region.Links = make([]schema.LinkID, region.Size)
		for j, link := range links.at(i) {
			region.Links[j] = schema.LinkID(link)
		}
		if err := readBox(region, low.at(i), high.at(i)); err != nil {
			return err
		}
		if len(next.at(i)) > 0 || len(later.at(i)) > 0 {
			if len(next.at(i)) != schema.NumStates || len(later.at(i)) != schema.NumStates {
				return refuse(BadRows, "region %d has odds of %d and %d states", region.ID, len(next.at(i)), len(later.at(i)))
			}
			region.Forecast = &schema.Forecast{GrowthLinks: int(growth[i]), TrendPercent: trends[i], Next: schema.Odds(next.at(i)), Later: schema.Odds(later.at(i))}
		}
		if err := checkNumbers(region); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers rejects numbers that are not, and odds that are no probabilities.
func checkNumbers(r *schema.Region) error {
	if math.IsNaN(r.Mean) || math.IsNaN(r.Max) {
		return refuse(BadRows, "region %d has a mean or maximum that is not a number", r.ID)
	}
	o := r.Forecast
	if o == nil {
		return nil
	}
	impossible := func(p float64) bool { return !(p >= 0 && p <= 1) } // or not a number
	if math.IsNaN(o.TrendPercent) || slices.ContainsFunc(o.Next[:], impossible) || slices.ContainsFunc(o.Later[:], impossible) {
		return refuse(BadRows, "region %d has an impossible forecast: a trend of %v, odds %v and %v", r.ID, o.TrendPercent, o.Next, o.Later)
	}
	return nil
}

// readRoots reads the columns of roots; older payloads have fewer or none.
func (set *RegionSet) readRoots(r *reader, columns int) error {
	if columns <= 15 {
		return nil
	}
	devices, ports, links := r.texts(15, 0, MaxNameBytes), r.texts(16, 0, MaxNameBytes), numbers[uint32](r, 17)
	if r.err != nil {
		return r.err
	}
	for i := range set.Regions {
		if device := devices.at(i); len(device) > 0 {
			set.Regions[i].Root = &schema.Root{Device: string(device), Port: string(ports.at(i)), Link: schema.LinkID(links[i])}
		}
	}
	if columns <= 18 {
		return nil
	}
	peers, kinds := r.texts(18, 0, MaxNameBytes), r.texts(19, 0, MaxNameBytes)
	if r.err != nil {
		return r.err
	}
	for i := range set.Regions {
		if root := set.Regions[i].Root; root != nil {
			root.Peer, root.Kind = string(peers.at(i)), string(kinds.at(i))
		}
	}
	return nil
}

// readUnread reads the numbers of links without readings, which older payloads lack.
func (set *RegionSet) readUnread(r *reader, columns int) error {
	if columns <= 20 {
		return nil
	}
	unread := numbers[uint32](r, 20)
	if r.err != nil {
		return r.err
	}
	for i := range set.Regions {
		set.Regions[i].Unread = int(unread[i])
	}
	return nil
}

func readBox(region *schema.Region, low, high []int32) error {
	if len(low) != len(high) || len(low) > maxBoxDimensions {
		return refuse(BadRows, "region %d has a box of %d and %d dimensions", region.ID, len(low), len(high))
	}
	if len(low) == 0 {
		return nil
	}
	box := schema.Box{Min: make([]int, len(low)), Max: make([]int, len(high))}
	for i := range low {
		box.Min[i], box.Max[i] = int(low[i]), int(high[i])
	}
	region.Box = &box
	return nil
}
