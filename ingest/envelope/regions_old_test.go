package envelope

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/giverny/giverny/schema"
)

// What was sent before regions had roots is read, without roots.
func TestRegionsWithoutRootColumns(t *testing.T) {
	var w metaWriter
	w.text(schema.MetaFabric, "f")
	w.unsigned(metaGraphVersion, 3)
	w.signed(metaIntervalStart, 0)
	w.signed(schema.MetaInterval, 60e9)
	meta := w.metadata()
	s := arrow.NewSchema(schema.RootlessRegionArrow.Fields(), &meta)
	e := new(Encoder)
	b := regionBuilder{texts: e.emptyTexts(5)}
	if err := b.add(&schema.Region{ID: 7, Metric: schema.XmitWait, Links: []schema.LinkID{4}, Size: 1, Mean: 9, Max: 9, Severity: schema.Low, Name: "leaf1"}); err != nil {
		t.Fatal(err)
	}
	payload, err := e.write(nil, Regions, s, 1, []arrow.Array{
		fixed(arrow.PrimitiveTypes.Uint64, b.ids, nil), b.texts[0].column(), b.texts[1].column(),
		fixed(arrow.PrimitiveTypes.Float64, b.means, nil), fixed(arrow.PrimitiveTypes.Float64, b.maxima, nil), b.texts[2].column(),
		fixed(arrow.PrimitiveTypes.Int64, b.ages, nil), fixed(arrow.PrimitiveTypes.Int64, b.births, nil),
		b.links.column(s.Field(8).Type, arrow.PrimitiveTypes.Uint32), b.low.column(s.Field(9).Type, arrow.PrimitiveTypes.Int32), b.high.column(s.Field(10).Type, arrow.PrimitiveTypes.Int32),
		fixed(arrow.PrimitiveTypes.Int64, b.growth, nil), fixed(arrow.PrimitiveTypes.Float64, b.trends, nil),
		b.next.column(s.Field(13).Type, arrow.PrimitiveTypes.Float64), b.later.column(s.Field(14).Type, arrow.PrimitiveTypes.Float64)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := new(Decoder).Regions(payload)
	if err != nil || len(set.Regions) != 1 || set.Regions[0].Root != nil || set.Regions[0].Name != "leaf1" {
		t.Errorf("got %+v, %v; want the region, without a root", set, err)
	}
}
