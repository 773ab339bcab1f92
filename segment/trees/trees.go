package trees

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// trees are the waiting nodes, and where the chains of waiting end.
type trees struct {
	backpressure.Waits
	isLinkSink index.By[index.Node, bool]    // a port to a host that is a sink of its own
	sink       index.By[index.Node, placeID] // the switch where it waits, or its own place (placeOf) if a link sink, or -1
	port       index.By[index.Node, bool]    // back pressure begins at the switch that it leaves
	rank       index.By[index.Node, hops]
	was        index.By[index.Node, hops] // rank before a round
	first      [lastRank + 2]int32        // by rank, for order
	order      []index.Node               // by rank: those at sinks first
	mutual     []groupStall
	usual      map[index.Group]float64     // by group: see markExchanging
	met        scratch.Marks[index.Device] // see isCohesive
	sample     []float64
}

// analysis is what steps 1 to 3 find in a snapshot: the waiting nodes, the sinks, and which of these are one cause.
type analysis struct {
	trees
	sinks  sinks
	causes causes
}

// prefersHost reports whether the hottest link that a node may wait for goes to a host.
func (t *trees) prefersHost(i index.Node) bool {
	j := t.HottestAfter(i)
	return j >= 0 && t.port[j]
}

// placeAt is the place of a switch, placeOf that of a link sink: numbered after the devices, by link.
func placeAt(device index.Device) placeID        { return placeID(device) }
func (t *trees) placeOf(link index.Link) placeID { return placeAt(t.Seen.Len()) + placeID(link) }
