package trees_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// rooted describes regions with their names and roots, sorted.
func rooted(g *topology.Graph, regions []schema.Region) (out []string) {
	for i := range regions {
		r := &regions[i]
		root := "no root"
		if r.Root != nil {
			root = r.Root.Device + " " + r.Root.Port
		}
		out = append(out, fmt.Sprintf("%d links, mean %.9g, %q, %s", r.Size, r.Mean, g.DescribeRegion(r), root))
	}
	slices.Sort(out)
	return out
}

// Trees, with their names and roots, do not depend on the numbering of links and devices.
func TestTreesDoNotDependOnNumbers(t *testing.T) {
	for _, set := range bench.DirectedSets() {
		if !strings.HasSuffix(set.Name, "-mixed") {
			continue
		}
		g := segmenttest.DirectedGraph(t, set)
		r := segmenttest.Renumbered(t, g, 3)
		one, other := segmenttest.New(t, g, segmenttest.Overlapping()), segmenttest.New(t, r.Graph, segmenttest.Overlapping())
		for seed := range int64(6) {
			snap := set.Sample(g, seed).Snapshot
			found := one.Step(snap)
			want, names := r.Regions(found), rooted(g, found)
			found = other.Step(r.Snapshot(snap))
			if got := segmenttest.Described(found); !slices.Equal(got, want) {
				t.Errorf("%s, seed %d: %s", set.Name, seed, segmenttest.Difference(got, want))
			}
			if got := rooted(r.Graph, found); !slices.Equal(got, names) {
				t.Errorf("%s, seed %d: got %q, want %q", set.Name, seed, got, names)
			}
		}
	}
}

// An incast of eight hosts in one leaf matters to operators: it is found on every fabric, whether the port at fault
// stalls or is only full.
func TestIncastOfEightHosts(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=32,hosts=16,spines=8", "dragonfly:groups=9,routers=4,hosts=12", bench.ImportedFabric} {
		set := bench.Set{Topology: spec}
		g := segmenttest.DirectedGraph(t, set)
		leaf, senders := leafOfMany(g, 8)
		values := stalls.Blank(g)
		for k, l := range senders {
			values[l] = 30 + float32(k)
		}
		s := segmenttest.New(t, g, segment.DefaultConfig())
		got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values.Noisy(.3, 1)}))
		if len(got) != 1 || got[0].Size != 8 || got[0].Root == nil || got[0].Root.Device != g.Device(leaf).Name {
			t.Errorf("%s: %+v, want one region of 8 links at %s", spec, got, g.Device(leaf).Name)
		}
	}
}

// leafOfMany is the first switch to which more than n hosts send, and the first n links from them.
func leafOfMany(g *topology.Graph, n int) (leaf topology.DeviceID, senders []schema.LinkID) {
	for d := range topology.DeviceID(g.NumDevices()) {
		senders = senders[:0]
		for _, l := range g.LinksAt(d) {
			if from, to := g.Ends(l); to == d && g.IsSwitch(d) && !g.IsSwitch(from) {
				senders = append(senders, l)
			}
		}
		if len(senders) > n {
			return d, senders[:n]
		}
	}
	return 0, nil
}

// Calm fabrics with lone hot links have no regions.
func TestLoneLinksAreNoTree(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	values := stalls.Blank(g).Noisy(.5, 1)
	for l := 0; l < len(values); l += 701 {
		values[l] = 40
	}
	if got := segmenttest.New(t, g, segment.DefaultConfig()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})); len(got) != 0 {
		t.Errorf("%s, want none", segmenttest.Sizes(got))
	}
}
