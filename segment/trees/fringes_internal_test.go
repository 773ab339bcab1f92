package trees

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Links that stall little at the switches of a large exchange are part of it: what they wait for stalls just too little to
// count. If they stall much, wait for a receiver, or are elsewhere, they are a cause of their own.
func TestFringeIsPartOfItsExchange(t *testing.T) {
	for name, c := range map[string]struct {
		percent              float32
		hasReceiver, isApart bool
		want                 bool
	}{
		"stalls little":        {percent: 9, want: true},
		"stalls much":          {percent: 25},
		"waits for a receiver": {percent: 9, hasReceiver: true},
		"is elsewhere":         {percent: 9, isApart: true},
	} {
		g := stalls.Fabric(t, "fattree:leaves=8,hosts=4,spines=4")
		values := make([]float32, g.NumLinks())
		var exchange, fringe []linkID
		receiver := root{device: noDevice, link: schema.NoLink}
		for l := range values {
			a, b := g.Ends(schema.LinkID(l))
			from, to := g.Device(a), g.Device(b)
			leaf := to
			if from.Level == 1 {
				leaf = from
			}
			isAtSpine := from.Level == 2 || to.Level == 2
			switch {
			case isAtSpine && leaf.Name < "leaf6":
				values[l], exchange = 40, append(exchange, linkID(l))
			case !c.isApart && isAtSpine && from.Name == "leaf6", c.isApart && from.Level == 0 && leaf.Name == "leaf7":
				values[l], fringe = c.percent, append(fringe, linkID(l))
			case from.Name == "leaf7" && to.Level == 0 && receiver.device == noDevice && c.hasReceiver:
				values[l], receiver = 30, root{device: deviceID(a), link: schema.LinkID(l)}
			}
		}
		if joined := joinsFringe(t, g, values, exchange, fringe, receiver); joined != c.want {
			t.Errorf("a fringe that %s is part of the exchange: %v, want %v", name, joined, c.want)
		}
	}
}

// joinsFringe reports whether joinFringes joins two regions, of which the second has a root.
func joinsFringe(t *testing.T, g *topology.Graph, values []float32, exchange, fringe []linkID, r root) bool {
	t.Helper()
	m := New(g, Config{MinMeanPercent: 5, Overlap: true})
	p := m.patchesOf(values, [][]linkID{exchange, fringe}, []root{{device: noDevice, link: schema.NoLink}, r})
	p.joinFringes(m)
	return p.sets.Find(0) == p.sets.Find(1)
}
