package segmenttest

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Renaming is a fabric with renumbered links: To[l] is the new number of link l.
type Renaming struct {
	Name  string
	Graph *topology.Graph
	To    []schema.LinkID
}

// Snapshot moves the values of a snapshot to their new links.
func (r *Renaming) Snapshot(snap *schema.Snapshot) *schema.Snapshot {
	out := *snap
	out.Series = nil
	for _, s := range snap.Series {
		moved := schema.Series{Metric: s.Metric, Values: make([]float32, snap.Links), Valid: schema.NewBitmap(snap.Links), Count: s.Count}
		for l, to := range r.To {
			moved.Values[to] = s.Values[l]
			if s.Valid.Has(l) {
				moved.Valid.Set(int(to))
			}
		}
		out.Series = append(out.Series, moved)
	}
	return &out
}

// Regions moves regions to their new links, formatted for comparison.
func (r *Renaming) Regions(regions []schema.Region) []string {
	moved := make([]schema.Region, len(regions))
	for i := range regions {
		moved[i] = regions[i]
		moved[i].Links = make([]schema.LinkID, len(regions[i].Links))
		for j, l := range regions[i].Links {
			moved[i].Links[j] = r.To[l]
		}
	}
	return Described(moved)
}

// Described formats regions independent of order; means are rounded, because a sum
// depends on the order of its terms.
func Described(regions []schema.Region) []string {
	var out []string
	for _, r := range regions {
		out = append(out, fmt.Sprintf("%s %d links, mean %.9g, max %g, %s: %v", r.Metric, r.Size, r.Mean, r.Max, r.Severity, slices.Sorted(slices.Values(r.Links))))
	}
	slices.Sort(out)
	return out
}

// Renumbered rebuilds the graph with devices and links in random order.
func Renumbered(t testing.TB, g *topology.Graph, seed int64) Renaming {
	t.Helper()
	rng := rand.New(rand.NewSource(seed))
	b := topology.NewBuilder(g.Fabric())
	if g.Duplex() {
		b.SetDuplex()
	}
	if g.Grid() != nil {
		b.SetGrid(*g.Grid())
	}
	device := make([]topology.DeviceID, g.NumDevices())
	for _, d := range rng.Perm(g.NumDevices()) {
		device[d] = b.Device(*g.Device(topology.DeviceID(d)))
	}
	to := make([]schema.LinkID, g.NumLinks())
	for _, id := range rng.Perm(g.NumLinks()) {
		l := g.Link(schema.LinkID(id))
		l.From, l.To = device[l.From], device[l.To]
		to[id] = b.Link(l)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return Renaming{"renumbered", h, to}
}

// Difference describes the difference of two lists of regions.
func Difference(got, want []string) string {
	same := 0
	for _, s := range want {
		if slices.Contains(got, s) {
			same++
		}
	}
	head := func(list, other []string) string {
		for _, s := range list {
			if !slices.Contains(other, s) {
				text, _, _ := strings.Cut(s, ":")
				return text
			}
		}
		return "nothing"
	}
	return fmt.Sprintf("%d regions, want %d, of which %d are the same; the first other is %s, want %s", len(got), len(want), same, head(got, want), head(want, got))
}
