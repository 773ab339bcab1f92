package trees

import (
	"testing"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// TestLevelOfAPairBoundsWhatATreeAdds checks that a tree adds to an exchange at neither of two level leaves, at which clearly
// less waits than at the exchange's: both have the level of the pair, whichever of them names it.
func TestLevelOfAPairBoundsWhatATreeAdds(t *testing.T) {
	const exchangeLinks, pairLinks, exchangeLevel, pairLevel = 30, 20, 40., 39.
	// One host of the pair's switch, device 0, sends into the exchange, as sink 0.
	snapshot := &trees{Waits: backpressure.Waits{Nodes: backpressure.Nodes{Noise: backpressure.Noise{Base: .1}, Values: index.Readings{exchangeLevel}, Node: []index.Node{0}, Stall: []float64{exchangeLevel},
		Graph: &backpressure.Graph{Kinds: []backpressure.LinkKind{backpressure.FromHost}, In: index.Lists[index.Device, index.Link]{Off: []int32{0, 1}, At: []index.Link{0}}}}}}
	found := &sinks{all: make([]sink, 5), component: []sinkID{0}, mask: []uint64{1}}
	c := &causes{levels: make([]plateau, 5), double: make([]double, 5), alsoIn: make([]levelID, 5)}
	c.level.Reset(5)
	for a := range found.all.Len() {
		found.all[a].bit, c.double[a], c.alsoIn[a] = uint8(a), double{-1, -1}, -1
	}
	c.level.Union(0, 1)
	c.level.Union(0, 2)
	c.levels[0] = plateau{sinks: 3, links: exchangeLinks, sum: exchangeLinks * exchangeLevel}
	c.level.Union(3, 4)
	c.levels[3] = plateau{sinks: 2, links: pairLinks, sum: pairLinks * pairLevel}
	for _, level := range []struct {
		stall float64
		want  bool // the tree adds to the exchange
	}{{pairLevel, false}, {exchangeLevel + 10, true}} {
		for _, a := range []sinkID{3, 4} {
			found.all[a] = sink{isLeaf: true, links: backpressure.MinFeeders, port: 20, stall: level.stall}
			c.double[a] = double{-1, -1}
			c.findDouble(snapshot, found, a, sinkRange{0, 5})
			if got := c.addsTree(a); got != level.want {
				t.Errorf("at %v%%, at sink %d a tree adds to the exchange: %v", level.stall, a, got)
			}
		}
	}
}
