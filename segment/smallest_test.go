package segment_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
)

// On duplex links fewer links than Monet's sigma are a region where chance does not make as many together, if they stall
// long enough.
func TestSmallRegionsOnDuplexLinks(t *testing.T) {
	g := stalls.Fabric(t, "torus:8x8x8")
	at := func(n int) []schema.LinkID { return stalls.Blob(g, 700, n) }
	other := stalls.Blob(g, 20, 8)
	explicit, paper := segment.DefaultConfig(), segment.DefaultConfig()
	explicit.MinLinks, paper.Method = segment.GeminiMinLinks, segment.Paper
	for _, c := range []struct {
		name   string
		cfg    segment.Config
		values stalls.Painting
		want   [][]schema.LinkID
	}{
		{"incast of nine cables", segment.DefaultConfig(), stalls.Blank(g).Paint(60, at(9)), [][]schema.LinkID{at(9)}},
		{"five cables", segment.DefaultConfig(), stalls.Blank(g).Paint(70, at(5)), [][]schema.LinkID{at(5)}},
		{"three cables", segment.DefaultConfig(), stalls.Blank(g).Paint(100, at(3)), nil},
		{"two trees", segment.DefaultConfig(), stalls.Blank(g).Paint(60, at(9)).Paint(50, other), [][]schema.LinkID{at(9), other}},
		{"beside a slow cable", segment.DefaultConfig(), stalls.Blank(g).Paint(6, at(12)), nil},
		{"less than 20 links at Medium", segment.DefaultConfig(), stalls.Blank(g).Paint(33, at(9)), nil},
		{"the same", segment.DefaultConfig(), stalls.Blank(g).Paint(34, at(9)), [][]schema.LinkID{at(9)}},
		{"20 links configured", explicit, stalls.Blank(g).Paint(60, at(19)), nil},
		{"paper", paper, stalls.Blank(g).Paint(60, at(19)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := segmenttest.Find(t, g, c.cfg, c.values.Noisy(.3, 1))
			if !slices.EqualFunc(got, c.want, func(r schema.Region, want []schema.LinkID) bool { return slices.Equal(r.Links, want) }) {
				t.Errorf("got %s, want %d regions: %v", segmenttest.Sizes(got), len(c.want), c.want)
			}
		})
	}
}

// Where many small groups of links are hot, as under normal load, a slightly larger one is none.
func TestNormalLoadMakesNoSmallRegions(t *testing.T) {
	g := stalls.Fabric(t, "torus:16x16x16")
	values := stalls.Blank(g)
	for i, n := range []int{2, 3, 4, 4, 5, 6, 8, 9} {
		values.Paint(45, stalls.Blob(g, schema.LinkID(3+i*1500), n))
	}
	if got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.3, 1)); len(got) > 0 {
		t.Errorf("got %s, want none", segmenttest.Sizes(got))
	}
}

// Noise alone makes no region on a small torus, however much there is of it.
func TestNoiseMakesNoSmallRegions(t *testing.T) {
	for _, spec := range []string{"torus:4x4x4", "torus:8x8x8"} {
		g := stalls.Fabric(t, spec)
		s, err := segment.New(g, segment.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		for seed := range int64(300) {
			values := stalls.Wavy(g, seed).Noisy(.5+float32(seed%10), seed)
			if got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values})); len(got) > 0 {
				t.Errorf("%s, seed %d: got %s", spec, seed, segmenttest.Sizes(got))
			}
		}
	}
}
