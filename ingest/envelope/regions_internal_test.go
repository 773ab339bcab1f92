package envelope

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

// Payloads from before regions had roots are read without roots, those from before roots had a peer and a kind without
// these, and those from before regions had unread links without them.
func TestOlderRegions(t *testing.T) {
	for i, want := range [...]*schema.Root{nil, {Device: "leaf1", Port: "3", Link: 5}, {Device: "leaf1", Port: "3", Peer: "host2", Link: 5}} {
		set, err := new(Decoder).Regions(payloadOf(t, schema.OlderRegionArrows[i], func(*regionBuilder) {}))
		if err != nil || len(set.Regions) != 1 || set.Regions[0].Name != "leaf1" || set.Regions[0].Unread != 0 {
			t.Fatalf("got %+v, %v", set, err)
		}
		if diff := cmp.Diff(want, set.Regions[0].Root); diff != "" {
			t.Error(diff)
		}
	}
}

// The decoder rejects what the encoder would: another program may have written a payload.
func TestForgedRegions(t *testing.T) {
	for name, change := range map[string]func(b *regionBuilder){
		"a mean that is not a number":    func(b *regionBuilder) { b.means[0] = math.NaN() },
		"a maximum that is not a number": func(b *regionBuilder) { b.maxima[0] = math.NaN() },
		"a trend that is not a number":   func(b *regionBuilder) { b.trends[0] = math.NaN() },
		"odds below 0":                   func(b *regionBuilder) { b.next.values[0] = -.1 },
		"odds above 1":                   func(b *regionBuilder) { b.later.values[4] = 1.1 },
		"odds that are not numbers":      func(b *regionBuilder) { b.later.values[0] = math.NaN() },
		"odds of too few states":         func(b *regionBuilder) { b.next = oneList(.5, .5) },
		"odds of too many states":        func(b *regionBuilder) { b.later = oneList(0., 0, 0, 0, 0, 1) },
		"odds only of the next interval": func(b *regionBuilder) { b.later = oneList[float64]() },
		"no metric":                      func(b *regionBuilder) { b.texts[0] = oneText("") },
		"an unknown metric":              func(b *regionBuilder) { b.texts[0] = oneText("weight") },
		"an unknown severity":            func(b *regionBuilder) { b.texts[1] = oneText("Extreme") },
		"a name that is too long":        func(b *regionBuilder) { b.texts[2] = oneText(strings.Repeat("x", maxTextBytes+1)) },
		"a box of different dimensions":  func(b *regionBuilder) { b.low = oneList[int32](1) },
		"a box of too many dimensions":   func(b *regionBuilder) { b.low, b.high = oneList(make([]int32, 17)...), oneList(make([]int32, 17)...) },
		"a root's port that is too long": func(b *regionBuilder) { b.texts[4] = oneText(strings.Repeat("x", MaxNameBytes+1)) },
	} {
		_, err := new(Decoder).Regions(payloadOf(t, schema.RegionArrow, change))
		if reason, _ := ReasonOf(err); reason != BadRows {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func oneList[T arrow.NumericType](values ...T) (b listBuilder[T]) {
	b.values = values
	b.end()
	return b
}

func oneText(text string) (b textBuilder) {
	b.reset()
	b.add(text)
	return b
}

// payloadOf is the payload of a region, with the columns of any version, changed after it was checked.
func payloadOf(t *testing.T, columns *arrow.Schema, change func(b *regionBuilder)) []byte {
	t.Helper()
	var w metaWriter
	w.text(schema.MetaFabric, "f")
	w.unsigned(metaGraphVersion, 3)
	w.signed(metaIntervalStart, 0)
	w.signed(schema.MetaInterval, 60e9)
	meta := w.metadata()
	s := arrow.NewSchema(columns.Fields(), &meta)
	e := new(Encoder)
	b := regionBuilder{texts: e.emptyTexts(7)}
	if err := b.add(&schema.Region{ID: 7, Metric: schema.XmitWait, Links: []schema.LinkID{4}, Size: 1, Mean: 9, Max: 9, Severity: schema.Low, Name: "leaf1", Unread: 2,
		Forecast: &schema.Forecast{Next: schema.Odds{1}, Later: schema.Odds{1}}, Root: &schema.Root{Device: "leaf1", Port: "3", Peer: "host2", Link: 5}}); err != nil {
		t.Fatal(err)
	}
	change(&b)
	payload, err := e.write(nil, Regions, s, 1, []arrow.Array{
		fixed(arrow.PrimitiveTypes.Uint64, b.ids, nil), b.texts[0].column(), b.texts[1].column(),
		fixed(arrow.PrimitiveTypes.Float64, b.means, nil), fixed(arrow.PrimitiveTypes.Float64, b.maxima, nil), b.texts[2].column(),
		fixed(arrow.PrimitiveTypes.Int64, b.ages, nil), fixed(arrow.PrimitiveTypes.Int64, b.births, nil),
		b.links.column(s.Field(8).Type, arrow.PrimitiveTypes.Uint32), b.low.column(s.Field(9).Type, arrow.PrimitiveTypes.Int32), b.high.column(s.Field(10).Type, arrow.PrimitiveTypes.Int32),
		fixed(arrow.PrimitiveTypes.Int64, b.growth, nil), fixed(arrow.PrimitiveTypes.Float64, b.trends, nil),
		b.next.column(s.Field(13).Type, arrow.PrimitiveTypes.Float64), b.later.column(s.Field(14).Type, arrow.PrimitiveTypes.Float64),
		b.texts[3].column(), b.texts[4].column(), fixed(arrow.PrimitiveTypes.Uint32, b.rootLinks, nil),
		b.texts[5].column(), b.texts[6].column(), fixed(arrow.PrimitiveTypes.Uint32, b.unread, nil)}[:columns.NumFields()])
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
