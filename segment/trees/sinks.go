package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// sinks are the places where back pressure begins: a port of a switch that cannot forward all that arrives. A port
// that is full but not stalled is often not visible, so a sink is a switch, or a single link if that stands out.
type sinks struct {
	all        index.By[sinkID, sink]
	byPlace    index.By[placeID, sinkID] // by place (device, or, after the devices, link): its sink, or -1
	components index.UnionFind[componentID]
	mask       index.By[index.Node, uint64] // the sinks that it leads to, as bits within the component
	feeding    index.By[index.Node, sinkID] // the sink that it enters from another switch, or -1
	lone       int                          // number of stalled links that nothing waits for and that wait for nothing
	sample     []float64
	component  index.By[index.Node, sinkID] // the first sink of its component, or -1
}

// lastBit is the last bit of a mask of a component's sinks.
const lastBit = 63

// newSinks returns the sinks of a fabric, none yet.
func newSinks(devices, links int) sinks {
	s := sinks{byPlace: make([]sinkID, devices+links)}
	for place := range s.byPlace {
		s.byPlace[place] = -1
	}
	return s
}

// find finds the sinks of a snapshot, which nodes lead to each, and what waits there.
func (s *sinks) find(t *trees) {
	for i := range s.all {
		s.byPlace[s.all[i].place] = -1
	}
	s.all = s.all[:0]
	s.unite(t)
	s.list(t)
	s.mark(t)
	s.measure(t)
}

// elementOf is a node as an element of components, elementAt the place of a switch: numbered after the nodes.
func elementOf(i index.Node) componentID { return componentID(i) }
func (t *trees) elementAt(place placeID) componentID {
	return elementOf(t.Links.Len()) + componentID(place)
}

// unite finds the connected components of back pressure, of nodes and switches.
func (s *sinks) unite(t *trees) {
	s.components.Reset(len(t.Links) + len(t.Seen))
	var last []index.Node // what the previous one waits for
	for i := range t.Links.Len() {
		if place := t.sink[i]; place >= 0 && place < placeAt(t.Seen.Len()) {
			s.components.Union(elementOf(i), t.elementAt(place))
		}
		after := t.after(i)
		if isSameList(after, last) {
			after = after[:min(1, len(after))] // the rest is already in one set
		} else {
			last = after
		}
		root := elementOf(i)
		for _, j := range after {
			root = s.components.Union(root, elementOf(j))
		}
	}
}

// list numbers the sinks: by component, then those with a port first, as only lastBit of them are distinguished, then the
// heaviest first, ties by name.
func (s *sinks) list(t *trees) {
	for i := range t.Links.Len() {
		place := t.sink[i]
		if place < 0 {
			continue
		}
		if s.byPlace[place] < 0 {
			s.byPlace[place] = s.all.Len()
			s.all = append(s.all, s.sinkAt(t, place))
		}
		x := &s.all[s.byPlace[place]]
		x.weight += t.Stall[i]
		x.hasPort = x.hasPort || t.port[i]
		x.isLeaf = x.isLeaf || x.link < 0 && t.Graph.ToHost(t.Links[i]) // at a higher switch: the port of an aggregation node
	}
	slices.SortFunc(s.all, func(a, b sink) int {
		return cmp.Or(cmp.Compare(a.component, b.component), compareTrue(a.hasPort, b.hasPort), cmp.Compare(b.weight, a.weight), cmp.Compare(t.Graph.ByName[a.device], t.Graph.ByName[b.device]), t.CompareEnds(a.link, b.link))
	})
	first := sinkID(0)
	for i := range s.all.Len() {
		if i > 0 && s.all[i].component != s.all[i-1].component {
			first = i
		}
		s.all[i].first = first
		s.all[i].bit = uint8(min(lastBit, i-first))
		s.byPlace[s.all[i].place] = i
	}
}

// compareTrue orders true before false.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// sinkAt creates the sink at a place.
func (s *sinks) sinkAt(t *trees, place placeID) sink {
	x := sink{place: place, link: -1}
	if devices := placeAt(t.Seen.Len()); place >= devices {
		x.link = index.Link(place - devices)
		x.device = t.Graph.From[x.link]
		x.component = s.components.Find(elementOf(t.Node[x.link]))
		x.isTwin = t.areTwins(x.device)
		return x
	}
	x.device = index.Device(place)
	x.component = s.components.Find(t.elementAt(place))
	x.isLeaf, x.hosts = t.Graph.IsLeaf(x.device), int(t.Graph.Hosts[x.device])
	return x
}

// mark finds which sinks each node leads to.
func (s *sinks) mark(t *trees) {
	s.mask, s.component = scratch.Slice(s.mask, len(t.Links)), scratch.Slice(s.component, len(t.Links))
	was := index.Node(-1) // the last node that waits for others
	for _, i := range t.order {
		s.mask[i], s.component[i] = 0, -1
		if place := t.sink[i]; place >= 0 {
			own := s.byPlace[place]
			s.mask[i] = 1 << s.all[own].bit
			s.component[i] = s.all[own].first
			continue
		}
		after := t.after(i)
		if was >= 0 && isSameList(after, t.after(was)) && t.rank[i] == t.rank[was] {
			s.mask[i], s.component[i] = s.mask[was], s.component[was]
			continue
		}
		was = i
		for _, j := range after {
			if s.component[j] >= 0 && t.rank[j] < t.rank[i] {
				s.mask[i] |= s.mask[j]
				s.component[i] = s.component[j]
			}
		}
	}
}

// leads reports whether a node leads to a sink.
func (s *sinks) leads(i index.Node, a sinkID) bool {
	return s.component[i] == s.all[a].first && s.mask[i]>>s.all[a].bit&1 != 0
}

// measure measures what waits at each sink.
func (s *sinks) measure(t *trees) {
	w := t.Graph
	s.feeding = scratch.Slice(s.feeding, len(t.Links))
	s.lone = 0
	for i, l := range t.Links {
		s.feeding[i] = -1
		if t.port[i] {
			a := &s.all[s.byPlace[t.sink[i]]]
			a.port = max(a.port, t.Stall[i])
			a.portSum += t.Stall[i]
			a.ports++
			if at := s.at(w.From[l]); a.link >= 0 && at >= 0 {
				s.all[at].others++
			}
			if t.StalledInto(w.From[l]) == 0 {
				s.lone++
			}
		}
	}
	for i := range t.Links.Len() {
		l := t.Links[i]
		at := s.at(w.To[l])
		if t.port[i] || at < 0 {
			continue
		}
		if t.sink[i] < 0 && !t.prefersHost(i) {
			continue
		}
		a := &s.all[at]
		if w.FromHost(l) {
			a.fromHosts++
			a.hostSum += t.Stall[i]
		} else {
			s.feeding[i] = at
			a.fromSwitches++
			a.switchSum += t.Stall[i]
		}
	}
	for a := range s.all.Len() {
		s.all[a].sum()
		if s.all[a].link >= 0 {
			continue
		}
		s.measurePorts(t, &s.all[a])
		s.all[a].isReceiver, s.all[a].waitsForFew = t.showsReceiver(&s.all[a]), t.showsFewPorts(&s.all[a])
		s.measureLevel(t, &s.all[a])
		if x := &s.all[a]; x.links == 1 && x.port == 0 && x.hostLinks == 0 {
			s.lone++
		}
	}
}

// sum averages the links from switches, and those from hosts too if the former are few.
func (s *sink) sum() {
	n, sum := s.fromSwitches, s.switchSum
	if n < backpressure.MinFeeders {
		n, sum = n+s.fromHosts, sum+s.hostSum
		s.hostLinks = int(s.fromHosts)
	}
	s.links = int(n)
	s.stall = s.port
	if n > 0 {
		s.stall = sum / n
	}
}

const levelDeviations = 3 // tolerance of a link at the level of its leaf

// measureLevel finds the level of the links that wait at a sink, and whether its hosts send, too.
func (s *sinks) measureLevel(t *trees, x *sink) {
	w := t.Graph
	x.level, x.levels, x.deviation = x.stall, x.links, 0
	x.levelSum = x.stall * float64(x.links)
	x.sendsToo = x.portsSend()
	if x.links == 0 && x.hasManyPorts() {
		x.levelSum, x.levels = x.portSum, x.ports
		x.level = x.levelSum / float64(x.levels)
	}
	s.sample = s.sample[:0]
	for _, i := range t.Into.Of(x.device) {
		if s.feeding[i] >= 0 {
			s.sample = append(s.sample, t.Stall[i])
		}
	}
	if len(s.sample) < backpressure.MinFeeders {
		s.measureHosts(t, x)
		return
	}
	middle := median.Of(s.sample)
	within := levelDeviations * t.Noise.Sigma(middle)
	sum, n := sumNear(s.sample, middle, within)
	x.deviation = median.Deviation(s.sample, middle) / t.Noise.Sigma(middle)
	s.sample = s.sample[:0]
	measured := [2]int{}
	stalled := [2]int{}
	for kind, links := range [2][]index.Link{w.In.Of(x.device), w.Out.Of(x.device)} {
		for _, l := range links {
			if t.Values[l] == linkset.Missing || w.ToHost(l) || kind == 0 && !w.FromHost(l) {
				continue
			}
			measured[kind]++
			if i := t.Node[l]; i >= 0 {
				stalled[kind]++
				s.sample = append(s.sample, t.Stall[i])
			}
		}
	}
	x.isUnread = measured == [2]int{}
	x.sendsToo = x.isUnread || 2*stalled[0] > measured[0] || 2*stalled[1] > measured[1] || x.portsSend()
	more, m := sumNear(s.sample, middle, within)
	if n += m; n > 0 {
		sum += more
		x.level, x.levelSum, x.levels = sum/float64(n), sum, n
	}
}

// portsSend reports whether many ports of a switch stall and most of their hosts send into the congestion, too: they
// exchange, however many other hosts there are.
func (s *sink) portsSend() bool { return s.hasManyPorts() && 2*s.sending > s.ports }

// measurePorts counts the hosts at stalled ports that send, too, and if many ports stall, finds the spread of their
// logarithms: each host receives at its own rate.
func (s *sinks) measurePorts(t *trees, x *sink) {
	if x.ports == 0 {
		return
	}
	x.sending = t.sendingPorts(x.device)
	if !x.hasManyPorts() {
		return
	}
	s.sample = s.sample[:0]
	for _, i := range t.Leaving.Of(x.device) {
		if t.ToHost(i) && t.sink[i] == x.place {
			s.sample = append(s.sample, t.Stall[i])
		}
	}
	if len(s.sample) > 0 {
		x.portSpread = median.Spread(s.sample, median.Of(s.sample))
	}
}

// measureHosts finds how unevenly the hosts of a leaf stall at which little else waits.
func (s *sinks) measureHosts(t *trees, x *sink) {
	s.sample = s.sample[:0]
	for _, i := range t.Into.Of(x.device) {
		if t.FromHost(i) {
			s.sample = append(s.sample, t.Stall[i])
		}
	}
	if len(s.sample) >= backpressure.MinFeeders {
		middle := median.Of(s.sample)
		x.deviation = median.Deviation(s.sample, middle) / t.Noise.Sigma(middle)
	}
}

// sumNear sums and counts the values within some distance of a middle.
func sumNear(v []float64, middle, within float64) (sum float64, n int) {
	for _, x := range v {
		if math.Abs(x-middle) <= within {
			sum, n = sum+x, n+1
		}
	}
	return sum, n
}
