package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/trees/index"
)

// Downlinks that stall most of the time fill few ports; if they stall little they may fill many, and few downlinks
// show nothing.
func TestWaitsForFewPorts(t *testing.T) {
	for _, c := range []struct {
		fabric  string
		percent float32
		stalled int // number of downlinks
		want    bool
	}{
		{"fattree:leaves=6,hosts=8,spines=8", 70, 8, true},
		{"fattree:leaves=6,hosts=8,spines=8", 70, 5, false},
		{"fattree:leaves=6,hosts=8,spines=8", 90, 5, true},
		{"fattree:leaves=6,hosts=8,spines=8", 30, 8, false},
		{"fattree:leaves=6,hosts=8,spines=16", 60, 16, false},
		{"fattree:leaves=6,hosts=8,spines=4", 30, 4, false},
		{"fattree:leaves=6,hosts=8,spines=4", 90, 2, false},
	} {
		g := stalls.Fabric(t, c.fabric)
		s := stalls.ByEnds{}
		for spine := range c.stalled {
			s[[2]string{fmt.Sprint("spine", spine), "leaf2"}] = c.percent
		}
		m := New(g, overlapping())
		values := s.On(t, g)
		m.measure(index.Readings(values))
		m.findLinks(index.Readings(values))
		m.findCauses()
		into := m.Node[stalls.LinkNamed(t, g, "spine0", "leaf2")]
		if got := m.sinks.all[m.sinks.at(m.To[into])].waitsForFew; got != c.want {
			t.Errorf("%s: %d ways at %v%%: %v, want %v", c.fabric, c.stalled, c.percent, got, c.want)
		}
	}
}
