package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// stalledWhere is the regions of a snapshot in which the links that a condition chooses stall for 40% of the time.
func stalledWhere(t *testing.T, g *topology.Graph, noise float32, chosen func(from, to topology.Device) bool) (regions []schema.Region, links int) {
	t.Helper()
	values := blank(g)
	for l := range values {
		from, to := g.Ends(schema.LinkID(l))
		if chosen(*g.Device(from), *g.Device(to)) {
			values[l] = 40
			links++
		}
	}
	s := newSegmenter(t, g, overlapping())
	return s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values.noisy(noise, 1)})), links
}

// What stalls heavily is a region though no root explains it.
func TestHeavyStallWithoutRoot(t *testing.T) {
	g := parse(t, "fattree:k=8")
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
			t.Errorf("%s: regions of %s links, want one of %d without a root", name, sizes(got), links)
		}
	}
}

// An incast of few hosts in one leaf counts where nothing is hot by chance, and a lone hot link does not.
func TestIncastOfFewHosts(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=32,hosts=16,spines=8", "fattree:k=16"} {
		g := parse(t, spec)
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
			if n > 1 {
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
