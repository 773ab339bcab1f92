package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
)

// What comes down to a leaf and stalls most of the time fills few ports; what stalls little may fill many, and few ways say nothing.
func TestWaitsForFewPorts(t *testing.T) {
	for _, c := range []struct {
		fabric  string
		percent float32
		stalled int // of the ways down
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
		m.measure(values)
		m.findLinks(values)
		m.findCauses()
		into := m.node[stalls.LinkNamed(t, g, "spine0", "leaf2")]
		if got := m.sinks.all[m.sinks.at[m.to[into]]].waitsForFew; got != c.want {
			t.Errorf("%s: %d ways at %v%%: %v, want %v", c.fabric, c.stalled, c.percent, got, c.want)
		}
	}
}

// Traffic to few hosts, by destination, comes down over few ways; to many it does not, though half of the ways are idle.
func TestFewWaysDown(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=6,hosts=8,spines=20")
	for stalled, want := range map[int]breadth{2: fewWays, 8: fewWays, 9: someWays} {
		s := stalls.ByEnds{}
		for spine := range stalled {
			s[[2]string{fmt.Sprint("spine", spine), "leaf2"}] = 40
		}
		m := New(g, overlapping())
		values := s.On(t, g)
		m.measure(values)
		m.findLinks(values)
		if got := m.breadth[m.node[stalls.LinkNamed(t, g, "spine0", "leaf2")]]; got != want {
			t.Errorf("%d of 20 ways: breadth %d, want %d", stalled, got, want)
		}
	}
}
