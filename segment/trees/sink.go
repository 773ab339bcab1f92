package trees

import (
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// sink is a place where back pressure begins.
type sink struct {
	place      placeID // its index in byPlace
	device     index.Device
	link       index.Link  // of a link sink, its link, a port to a host; or -1
	component  componentID // its representative in the union-find
	first      sinkID      // first sink of its component
	bit        uint8       // in its component's masks; sinks past lastBit share that
	isLeaf     bool
	hasPort    bool    // a link to a host ends there
	links      int     // that enter it and wait there: from switches, or from hosts too if these are few
	hostLinks  int     // those of them that come from hosts
	stall      float64 // mean of links
	hosts      int     // at the switch
	ports      int     // stalled links to hosts
	sending    int     // stalled links to hosts that themselves send into the congestion
	others     int     // links to hosts that are sinks of their own, at its switch
	port       float64 // stall of the hottest link to a host, 0 if none is stalled
	portSum    float64 // sum of the stalls of links to hosts
	portSpread float64 // deviation of the logarithms of these, if many stall
	weight     float64 // sum of the stalls that wait there
	// The level, of the links from switches and, at a leaf, of the links from its hosts and up from it near that
	// level:
	level       float64 // mean
	levelSum    float64
	levels      int     // number
	deviation   float64 // of the links from switches, or from hosts if few, in deviations of the noise
	sendsToo    bool    // most of the leaf's hosts or uplinks stall, too
	isUnread    bool    // nothing that the leaf or its hosts send is measured, so that it may send
	isReceiver  bool    // see showsReceiver; never of a link sink
	waitsForFew bool    // see showsFewPorts
	isTwin      bool    // see areTwins
	leans       bool    // its links wait for another cause: see joinLeaning
	fromHosts, fromSwitches,
	hostSum, switchSum float64
}

// down is the number of links from switches.
func (s *sink) down() int { return s.links - s.hostLinks }

// isTree reports whether the stall of a port to a host explains what waits there; many ports are not a root.
func (s *sink) isTree() bool {
	return s.links > 0 && s.port >= backpressure.PortShare*s.stall && !s.hasManyPorts()
}

// beginsTree reports whether a tree begins at a sink, so that what waits there is no exchange's: a port to a host
// explains it, or a port stalls, and more than its host waits to send. Where senders push, far more may wait than the
// port stalls.
func (s *sink) beginsTree() bool { return s.isTree() || s.isReceiver }

// showsRoot reports whether the links at a switch wait for a visibly stalled port to a host.
func (s *sink) showsRoot() bool {
	return s.links > 1 && s.port > 0 && !s.hasManyPorts()
}

// hasManyPorts reports whether more ports to hosts stall than a few trees have: at a small switch all or all but one,
// or several whose hosts all send.
func (s *sink) hasManyPorts() bool {
	ports := s.ports + s.others
	return ports > mostRoots || ports == mostRoots && s.hosts <= mostRoots+1 || s.sending > 1 && s.sending >= ports
}

// portMean is the mean stall of the links to hosts.
func (s *sink) portMean() float64 { return s.portSum / float64(max(1, s.ports)) }

// isWide reports whether enough waits at a sink to distinguish it from lone hot links.
func (s *sink) isWide() bool { return s.links >= backpressure.MinFeeders || s.hasManyPorts() }

// mostRoots is the highest number of trees with their roots at one switch.
const mostRoots = 3

// sinkRange is the sinks from first to before end: those of one component, or of these the ones that a mask distinguishes.
type sinkRange struct{ first, end sinkID }

func (r sinkRange) len() int { return int(r.end - r.first) }

// ofComponent is the sinks of the component with a first sink.
func (s *sinks) ofComponent(first sinkID) sinkRange {
	end := first + 1
	for end < s.all.Len() && s.all[end].first == first {
		end++
	}
	return sinkRange{first, end}
}

// at is the sink at a switch, or -1.
func (s *sinks) at(device index.Device) sinkID { return s.byPlace[placeAt(device)] }

// portCause is the cause of a port at a sink if that is another than the sink's.
func (s *sinks) portCause(a sinkID) causeID { return causeID(s.all.Len() + a) }

// sinkOf is the sink that names a cause, or at which the port is that is a cause of its own.
func (s *sinks) sinkOf(cause causeID) (a sinkID, isPort bool) {
	if n := causeID(s.all.Len()); cause >= n {
		return sinkID(cause - n), true
	}
	return sinkID(cause), false
}

// deviceOf is the switch at which a cause begins.
func (s *sinks) deviceOf(cause causeID) index.Device {
	a, _ := s.sinkOf(cause)
	return s.all[a].device
}
