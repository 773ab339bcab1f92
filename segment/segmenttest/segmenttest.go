// Package segmenttest is test support for segmentation and its methods: segmenters of every kind, checks of everything
// that Step guarantees, renumbered fabrics, and generated snapshots.
package segmenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// Paper is the paper's method with its sigma.
func Paper() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.Method, cfg.MinLinks = segment.Paper, segment.GeminiMinLinks
	return cfg
}

// StepLinks returns the links of the regions found in values.
func StepLinks(t testing.TB, g *topology.Graph, cfg segment.Config, values []float32) [][]schema.LinkID {
	t.Helper()
	var out [][]schema.LinkID
	for _, r := range New(t, g, cfg).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values})) {
		out = append(out, slices.Clone(r.Links))
	}
	return out
}

// SortRegions sorts regions into a canonical order.
func SortRegions(regions [][]schema.LinkID) {
	slices.SortFunc(regions, slices.Compare[[]schema.LinkID])
}

// Kind is a configuration that must meet all the guarantees of Segmenter.
type Kind struct {
	Name   string
	Config segment.Config
}

// Kinds are the paper's method, and the statistical one without and with overlap.
func Kinds() []Kind {
	statistical := segment.DefaultConfig()
	statistical.MinLinks = segment.GeminiMinLinks
	overlap := statistical
	overlap.Overlap = true
	return []Kind{{"paper", Paper()}, {"statistical", statistical}, {"overlap", overlap}}
}

// New returns a segmenter; an invalid configuration fails the test.
func New(t testing.TB, g *topology.Graph, cfg segment.Config) *segment.Segmenter {
	t.Helper()
	s, err := segment.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FollowsBackPressure reports whether a method uses the direction of links.
func FollowsBackPressure(g *topology.Graph, cfg segment.Config) bool {
	return !g.Duplex() && cfg.Method == segment.Statistical
}

// Sizes summarises regions for a failure message.
func Sizes(regions []schema.Region) string {
	out := fmt.Sprintf("%d regions", len(regions))
	for _, r := range regions {
		out += fmt.Sprintf(", %d links from %d at %.2f%%", r.Size, r.Links[0], r.Mean)
	}
	return out
}

// SizesOf is Sizes of bare links.
func SizesOf(regions [][]schema.LinkID) string {
	out := fmt.Sprintf("%d regions", len(regions))
	for _, r := range regions {
		out += fmt.Sprintf(", %d links from %d", len(r), r[0])
	}
	return out
}

// ToJSON encodes regions for an exact comparison.
func ToJSON(t testing.TB, regions []schema.Region) string {
	t.Helper()
	b, err := json.Marshal(regions)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Find returns the regions of a painting, largest first.
func Find(t *testing.T, g *topology.Graph, cfg segment.Config, values stalls.Painting) []schema.Region {
	t.Helper()
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.CreditStall: values})
	regions := New(t, g, cfg).Step(snap)
	Check(t, g, cfg, snap, regions)
	return regions
}

// Overlapping is the default configuration with overlap.
func Overlapping() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	return cfg
}

// WantRegions checks that exactly these regions were found, in any order.
func WantRegions(t *testing.T, name string, g *topology.Graph, got []schema.Region, want ...stalls.ByEnds) {
	t.Helper()
	for _, s := range want {
		links := map[schema.LinkID]bool{}
		for ends, percent := range s {
			if percent >= schema.LowPercent {
				links[stalls.LinkNamed(t, g, ends[0], ends[1])] = true
			}
		}
		isFound := false
		for _, r := range got {
			n := 0
			for _, l := range r.Links {
				if links[l] {
					n++
				}
			}
			isFound = isFound || n == len(links) && len(r.Links) == n
		}
		if !isFound || len(got) != len(want) {
			t.Errorf("%s: %s, one of them should be these %d links", name, Sizes(got), len(links))
		}
	}
}
