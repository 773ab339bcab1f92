package envelope

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

// Payloads from before regions had roots are read without roots, and those from before roots had a peer and a kind without
// these.
func TestOlderRegions(t *testing.T) {
	for i, want := range [...]*schema.Root{nil, {Device: "leaf1", Port: "3", Link: 5}} {
		set, err := new(Decoder).Regions(olderPayload(t, schema.OlderRegionArrows[i]))
		if err != nil || len(set.Regions) != 1 || set.Regions[0].Name != "leaf1" {
			t.Fatalf("got %+v, %v", set, err)
		}
		if diff := cmp.Diff(want, set.Regions[0].Root); diff != "" {
			t.Error(diff)
		}
	}
}

// olderPayload is a region in an older format with fewer columns.
func olderPayload(t *testing.T, columns *arrow.Schema) []byte {
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
	if err := b.add(&schema.Region{ID: 7, Metric: schema.XmitWait, Links: []schema.LinkID{4}, Size: 1, Mean: 9, Max: 9, Severity: schema.Low, Name: "leaf1", Root: &schema.Root{Device: "leaf1", Port: "3", Peer: "host2", Link: 5}}); err != nil {
		t.Fatal(err)
	}
	payload, err := e.write(nil, Regions, s, 1, []arrow.Array{
		fixed(arrow.PrimitiveTypes.Uint64, b.ids, nil), b.texts[0].column(), b.texts[1].column(),
		fixed(arrow.PrimitiveTypes.Float64, b.means, nil), fixed(arrow.PrimitiveTypes.Float64, b.maxima, nil), b.texts[2].column(),
		fixed(arrow.PrimitiveTypes.Int64, b.ages, nil), fixed(arrow.PrimitiveTypes.Int64, b.births, nil),
		b.links.column(s.Field(8).Type, arrow.PrimitiveTypes.Uint32), b.low.column(s.Field(9).Type, arrow.PrimitiveTypes.Int32), b.high.column(s.Field(10).Type, arrow.PrimitiveTypes.Int32),
		fixed(arrow.PrimitiveTypes.Int64, b.growth, nil), fixed(arrow.PrimitiveTypes.Float64, b.trends, nil),
		b.next.column(s.Field(13).Type, arrow.PrimitiveTypes.Float64), b.later.column(s.Field(14).Type, arrow.PrimitiveTypes.Float64),
		b.texts[3].column(), b.texts[4].column(), fixed(arrow.PrimitiveTypes.Uint32, b.rootLinks, nil)}[:columns.NumFields()])
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
