package trees_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// stalledWhere finds the regions of a snapshot in which the chosen links stall for 40% of the time.
func stalledWhere(t *testing.T, g *topology.Graph, noise float32, chosen func(from, to topology.Device) bool) (regions []schema.Region, links int) {
	t.Helper()
	values, stalled := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		if chosen(*from, *to) {
			return 40, true
		}
		return 0, false
	})
	return segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(noise, 1)), len(stalled)
}

// Heavy stall is a region even if no root explains it.
func TestHeavyStallWithoutRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for name, chosen := range map[string]func(from, to topology.Device) bool{
		"core downlinks":      func(from, to topology.Device) bool { return from.Level == 3 },
		"pod 3, agg to core":  func(from, to topology.Device) bool { return from.Group == 3 && from.Level == 2 && to.Level == 3 },
		"pod 3, host uplinks": func(from, to topology.Device) bool { return from.Level == 0 && to.Group == 3 },
		"one leaf's uplinks":  func(from, to topology.Device) bool { return from.Name == "leaf3-1" && to.Level == 2 },
		"pod 3, all uplinks": func(from, to topology.Device) bool {
			return from.Group == 3 && from.Level > 0 && to.Level > from.Level
		},
	} {
		got, links := stalledWhere(t, g, .7, chosen)
		if len(got) != 1 || got[0].Size != links || got[0].Root != nil {
			t.Errorf("%s: regions of %s links, want one of %d without a root", name, segmenttest.Sizes(got), links)
		}
	}
}

// An incast of few hosts in one leaf counts if no link is hot by chance; one hot link, or two siblings, do not.
func TestIncastOfFewHosts(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=32,hosts=16,spines=8", "fattree:k=16"} {
		g := stalls.Fabric(t, spec)
		leaf := ""
		for n := 1; n <= 5; n++ {
			sent := 0
			got, _ := stalledWhere(t, g, .3, func(from, to topology.Device) bool {
				if leaf == "" && from.Level == 0 {
					leaf = to.Name
				}
				if from.Level != 0 || to.Name != leaf || sent == n {
					return false
				}
				sent++
				return true
			})
			want := "[]"
			if n > 2 {
				want = fmt.Sprintf("[%d at %s]", n, leaf)
			}
			var found []string
			for _, r := range got {
				if r.Root != nil {
					found = append(found, fmt.Sprintf("%d at %s", r.Size, r.Root.Device))
				} else {
					found = append(found, fmt.Sprintf("%d without a root", r.Size))
				}
			}
			slices.Sort(found)
			if text := "[" + strings.Join(found, " ") + "]"; text != want {
				t.Errorf("%s, %d hosts: %s, want %s", spec, n, text, want)
			}
		}
	}
}

// Stalled links at a switch next to a region are part of it, unless they may be chance: one hot link, but not two
// level ones.
func TestWhatLiesBesideARegionIsItsPart(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	const inRegion = 8 + 6*8 // links down to the root's leaf, and up from all other leaves but one
	for hosts, want := range []int{inRegion, inRegion, inRegion + 2, inRegion + 3} {
		sent := 0
		got, _ := stalledWhere(t, g, .3, func(from, to topology.Device) bool {
			if from.Level == 0 && to.Name == "leaf0-5" && sent < hosts {
				sent++
				return true
			}
			return from.Level == 2 && to.Name == "leaf0-0" || to.Level == 2 && to.Group == 0 && from.Level == 1 && from.Name != "leaf0-0" && from.Name != "leaf0-5"
		})
		if len(got) != 1 || got[0].Size != want {
			t.Errorf("%d hosts that stall beside it: %s, want %d links", hosts, segmenttest.Sizes(got), want)
		}
	}
}

// Noise, false zeros and lone hot links, up to one in a thousand, make no regions.
func TestLoneHotLinksMakeNoRegions(t *testing.T) {
	const snapshots = 500 // chance may make a region in .03 of these
	for _, spec := range []string{"fattree:k=16", "fattree:leaves=32,hosts=16,spines=8", "dragonfly:groups=17,routers=8,hosts=4"} {
		g := stalls.Fabric(t, spec)
		s, values := segmenttest.New(t, g, segmenttest.Overlapping()), stalls.Blank(g)
		for _, lone := range []float64{0, 1e-4, 1e-3} {
			rng := rand.New(rand.NewPCG(1, uint64(lone*1e6)))
			for k := range snapshots {
				noise := .3 + 1.2*float64(k%2)
				for l := range values {
					values[l] = float32(max(0, rng.NormFloat64()*noise))
					switch {
					case rng.Float64() < .015:
						values[l] = 0
					case rng.Float64() < lone:
						values[l] = float32(5 + 75*rng.Float64())
					}
				}
				if got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})); len(got) > 0 {
					t.Errorf("%s, %v hot alone, snapshot %d: regions of %s links", spec, lone, k, segmenttest.Sizes(got))
				}
			}
		}
	}
}

// Four level links that wait for each other are not chance; four that differ may be.
func TestLevelChain(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	for name, x := range map[string]struct {
		stalls [4]float32
		want   int
	}{
		"level in pairs": {[4]float32{60, 60, 64, 64}, 1},
		"uneven":         {[4]float32{20, 90, 66, 38}, 0},
	} {
		values, hosts := stalls.Blank(g).Noisy(.3, 1), map[string]int{}
		lone := int32(0)
		for l := range values {
			from, to := g.Ends(schema.LinkID(l))
			a, b := g.Device(from), g.Device(to)
			for k, leaf := range []string{"leaf10-4", "leaf10-7"} {
				switch {
				case b.Name == leaf && a.Level == 0 && hosts[leaf] == 0:
					hosts[leaf]++
					values[l] = x.stalls[k]
				case a.Name == leaf && b.Name == "agg10-0":
					values[l] = x.stalls[2+k]
				}
			}
			if a.Level == 0 && a.Group < 3 && lone == a.Group { // three lone hot links
				values[l] = 30
				lone++
			}
		}
		if got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})); len(got) != x.want {
			t.Errorf("%s: regions of %s links, want %d regions", name, segmenttest.Sizes(got), x.want)
		}
	}
}
