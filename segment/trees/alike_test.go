package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
)

// If as much waits at nine other leaves, a leaf's stalled port is not the reason. It may be if much more waits at its
// leaf, or if too few leaves show how much an exchange stalls.
func TestPortOfOneLeafOfManyIsNoReceiver(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=12,hosts=8,spines=8")
	for _, c := range []struct {
		leaves  int
		percent float32 // at the leaf with the port
		want    bool
	}{
		{10, 22, true},
		{10, 10, true},
		{10, 80, false},
		{5, 22, false},
	} {
		s := stalls.ByEnds{}
		for leaf := range c.leaves {
			for spine := range 4 {
				percent := float32(16 + 4*(leaf%4) + spine)
				if leaf == 0 {
					percent = c.percent
				}
				s[[2]string{fmt.Sprint("spine", (leaf+spine)%8), fmt.Sprint("leaf", leaf)}] = percent
			}
			for spine := leaf % 2; spine < 8; spine += 2 { // not all, or no link would wait for few downlinks
				s[[2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}] = 15
			}
		}
		s[[2]string{"leaf0", "host3"}] = 30
		m := New(g, overlapping())
		values := s.On(t, g)
		m.measure(readings(values))
		m.findLinks(readings(values))
		m.findCauses()
		x := &m.sinks.all[m.sinks.at(m.from[m.node[stalls.LinkNamed(t, g, "leaf0", "host3")]])]
		if !x.isReceiver {
			t.Fatalf("%d leaves: no receiver at leaf0", c.leaves)
		}
		if got := m.sinks.waitsAlike(x); got != c.want {
			t.Errorf("%d leaves, %v%% at the one with the port: %v, want %v", c.leaves, c.percent, got, c.want)
		}
	}
}
