package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// canSend is the share of its capacity that a port of directed links can send, as far as what waits for it bounds that: while an
// input stalls and waits for the port, and nothing holds the port back, it sends at its rate. 1 if nothing shows that it is slow.
func (p *pressure) canSend(port schema.LinkID) float64 {
	at, _ := p.graph.Ends(port)
	stalls, squares := 0., 0. // the inputs that stall most say most
	for _, l := range p.graph.LinksAt(at) {
		if stall := p.stallOf(l); stall >= stalledPercent && p.onlyWaitsFor(l, port) {
			stalls, squares = stalls+stall, squares+stall*stall
		}
	}
	use := p.useOf(port)
	if _, since := p.most(port); stalls == 0 || use < leastUse || since >= fullPort || p.begins {
		return 1
	}
	return min(1, use/max(use, squares/stalls-p.stallOf(port)))
}

// onlyWaitsFor reports whether a link into a switch may wait for a port, and for no other one that stalls or is nearly full.
func (p *pressure) onlyWaitsFor(l, port schema.LinkID) bool {
	at, _ := p.graph.Ends(port)
	if _, to := p.graph.Ends(l); to != at || !p.mayWait(l, port) {
		return false
	}
	for _, out := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(out); from == at && out != port && p.mayWait(l, out) && (p.stallOf(out) >= stalledPercent || p.useOf(out) >= fullPercent) {
			return false
		}
	}
	return true
}

// most is the most that a link carried before the onset, and since, percent of its capacity.
func (p *pressure) most(l schema.LinkID) (before, since float64) {
	if p.peaks == nil {
		return max(0, p.before(l)), p.useOf(l)
	}
	before, since = p.peaks(l)
	return before, max(since, p.useOf(l))
}

// ceiling is the share of the most that a link carried before the onset that it carried at most since; 1 if that is not known.
func (p *pressure) ceiling(l schema.LinkID) float64 {
	before, since := p.most(l)
	if before < leastUse {
		return 1
	}
	return since / before
}

// beyond is by how much the most that a link carried since the onset is more than the most before, percent of its capacity.
func (p *pressure) beyond(l schema.LinkID) float64 {
	before, since := p.most(l)
	return since - before
}

// slowest is the port of a switch that carries clearly less since the onset than it did at most: of those for which nearly
// all may wait that the inputs hold back, one that carries the same in all intervals since, or the one that lost most, as the
// little that another carried may have ended. What comes from a neighbour does not wait for the port back there, so that where
// it waits too another port is the slow one.
func (p *pressure) slowest(at topology.DeviceID, rc *regionCase) schema.LinkID {
	slow, most, flat := schema.NoLink, 0., false
	all := p.mayWaitFor(at, schema.NoLink)
	for _, l := range p.graph.LinksAt(at) {
		from, _ := p.graph.Ends(l)
		if from != at || p.stallOf(l) >= stalledPercent || p.useOf(l) < leastUse || !p.entered(at, l, rc) {
			continue // a port for which traffic waits sends
		}
		lost, sure := -p.beyond(l), p.flat != nil && p.flat(l)
		if p.ceiling(l) < clearlyLess && (sure && !flat || sure == flat && lost > most) && p.mayWaitFor(at, l) >= nearlyAll*all {
			slow, most, flat = l, lost, sure
		}
	}
	return slow
}

// nearlyAll is the share of what a switch's inputs hold back that may wait for a port which alone is slow.
const nearlyAll = .9

// mayWaitFor adds up what the inputs of a switch hold back, bytes/s, that may wait for a port, or for any with NoLink.
func (p *pressure) mayWaitFor(at topology.DeviceID, port schema.LinkID) (sum float64) {
	for _, l := range p.graph.LinksAt(at) {
		if _, to := p.graph.Ends(l); to == at && p.stallOf(l) >= stalledPercent && (port == schema.NoLink || p.mayWait(l, port)) {
			sum += p.heldBackOr(l)
		}
	}
	return sum
}

// loaded reports whether load on a port is what others wait for, rather than a port of its switch that carries less than it did:
// it was full since the onset, or carries more than ever before, by more than the other lost, and for as long as inputs stall.
func (p *pressure) loaded(port, slow schema.LinkID) bool {
	_, since := p.most(port)
	return since >= fullPort || p.beyond(port) >= -p.beyond(slow) && p.canSend(port) >= clearlyLess
}

// peaks are the most that a link carried before a region began, but for one interval, and since, percent of its capacity; 0
// before where nothing is known. Phases of jobs move what is carried, what can be carried shows in the peaks.
func (s *Stage) peaks(rc *regionCase, l schema.LinkID) (before, since float64) {
	use := s.memory.metrics[schema.BandwidthUsed]
	if use == nil {
		return 0, 0
	}
	began, first := s.clock.now-flatIntervals+1, 0.
	if rc.again >= 0 {
		began = s.beganAgain(rc)
	}
	for slot := s.oldest(use); slot <= s.clock.now; slot++ {
		v := use.at(slot, l)
		switch {
		case slot > began:
			since = max(since, v)
		case slot < began && v > first:
			first, before = v, first
		case slot < began:
			before = max(before, v)
		}
	}
	return before, since
}
