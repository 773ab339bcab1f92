package collective

import (
	"fmt"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// A port is slow if packets wait there (standingQueue in the mean) although all its
// traffic needs less than busyShare of the time at the nominal rate, and nothing pauses
// it.
const (
	standingQueue = 3.0
	busyShare     = 0.75
	pausedShare   = 0.2
	usualPacket   = 1300    // payload bytes, the simulation's; for other fabrics see packetSize
	sizedPackets  = 8       // fewest packets of a flow that determine their size
	epochMargin   = 100_000 // ns: a queue from before an epoch has drained after it
	lonePackets   = 32      // fewest packets of a lone flow that are significant, and
	loneQueue     = 6.0     // the mean queue that they found
	slowFactor    = 1.25    // of a healthy step: steps behind a slow port take at least that long
	slowSteps     = 0.8     // share of the steps behind a slow port that do
)

// slowPorts returns the ports on a step's path that were slow while it ran.
func (e *evidence) slowPorts(i int, s *stream) []cause {
	from, to := e.t.begin[i], e.t.end[i]
	var out []cause
	for _, p := range e.tr.route(s).Ports {
		if e.tr.route(s).Certain(p) && e.tr.net.Nodes[p.Node].Switch && e.slowPort(p, from, to) {
			out = append(out, e.slowLinkAt(p, float64(e.base.excess(i))))
		}
	}
	return out
}

// loneQueues returns the ports on a step's path where packets of only its flow waited
// although nothing paused the port: a link as fast as the sender's does not build a
// queue from one flow.
func (e *evidence) loneQueues(i int, s *stream, excess int64) []cause {
	var out []cause
	for _, p := range e.tr.route(s).Ports {
		if e.tr.route(s).Certain(p) && e.tr.net.Nodes[p.Node].Switch && e.loneQueue(p, e.t.begin[i], e.t.end[i]) && e.staysSlow(p, e.t.begin[i]) {
			out = append(out, e.slowLinkAt(p, float64(excess)))
		}
	}
	return out
}

func (e *evidence) loneQueue(p network.Port, from, to int64) bool {
	h, ok := e.tr.net.Next(p)
	if !ok || e.tr.net.Nominal(h) < e.tr.net.Fastest {
		return false
	}
	for _, r := range e.tr.during(p, from, to) {
		if r.EpochNanos+epochMargin >= from && len(r.Flows) == 1 && r.Paused == 0 && r.Packets >= lonePackets && float64(r.QueueSum) >= loneQueue*float64(r.Packets) &&
			e.pauses.time(p, r.EpochNanos-epochMargin, r.LastNanos) == 0 {
			return true
		}
	}
	return false
}

func (e *evidence) slowLinkAt(p network.Port, weight float64) cause {
	h, _ := e.tr.net.Next(p) // a port of a path has a link
	return cause{who: fmt.Sprint("link ", h.Link), class: SlowLink, object: e.switchPort(p), weight: weight, confidence: 0.85, inferred: true,
		evidence: fmt.Sprintf("packets wait at %s for a link that carries less than its nominal rate", e.switchPort(p))}
}

// slowPort reports whether a port's link carried less than it should between two times
// although packets were waiting.
func (e *evidence) slowPort(p network.Port, from, to int64) bool {
	h, ok := e.tr.net.Next(p)
	if !ok || to <= from {
		return false
	}
	var queue, packets, paused, reported int64
	for _, r := range e.tr.during(p, from, to) {
		if e.unknownShare(r, from, to) {
			return false
		}
		reported += r.LastNanos - r.EpochNanos
		queue, packets, paused = queue+r.QueueSum, packets+r.Packets, paused+r.Paused
	}
	if packets == 0 || float64(queue) < standingQueue*float64(packets) || float64(paused) > pausedShare*float64(packets) ||
		float64(e.pauses.time(p, from, to)) > pausedShare*float64(to-from) {
		return false
	}
	return e.underused(p, h, from, to) && e.nominalNanos(packets*e.tr.packetBytes, h) < busyShare*float64(reported) && e.staysSlow(p, from)
}

// underused reports whether a port carried less than it should while a flow that goes
// through it was under way.
func (e *evidence) underused(p network.Port, h network.Hop, from, to int64) bool {
	var bytes int64
	var spells []interval
	for _, s := range e.tr.sending(from, to) {
		if e.tr.passes(s.stream, p) {
			bytes += s.bytes
			spells = e.tr.spells(spells, s.stream, from, to)
		}
	}
	return e.nominalNanos(bytes, h) < busyShare*float64(covered(spells))
}

// nominalNanos is how long a link takes for a payload at its nominal rate.
func (e *evidence) nominalNanos(bytes int64, h network.Hop) float64 {
	return float64(bytes) * 8 * wireFactor / float64(e.tr.net.Nominal(h)) * 1e9
}

// packetSize is the payload of the packets that switches count: the median over flows
// of bytes, by sequence numbers, per packet. With a wrong size a port would look idle
// or busy.
func packetSize(reports []PortReport) int64 {
	var sizes []int64
	for i := range reports {
		for _, f := range reports[i].Flows {
			if f.Packets >= sizedPackets && f.MaxSeq > f.MinSeq {
				sizes = append(sizes, (f.MaxSeq-f.MinSeq)/(f.Packets-1))
			}
		}
	}
	if len(sizes) == 0 {
		return usualPacket
	}
	slices.Sort(sizes)
	return max(sizes[len(sizes)/2], 1)
}

// unknownShare reports whether a port carried flows without a recorded size.
func (e *evidence) unknownShare(r *PortReport, from, to int64) bool {
	for _, row := range r.Flows {
		if row.Collective {
			continue
		}
		if f := e.streamOf(row, from, to); f != nil && !f.recorded {
			return true
		}
	}
	return false
}

// staysSlow reports whether nearly all of the collective's steps through a port take
// too long from a given time on: a link does not recover between two steps.
func (e *evidence) staysSlow(p network.Port, from int64) bool {
	c := e.stepsThrough(p, from)
	return float64(c.slow) >= slowSteps*float64(c.all) && (c.well == 0 || c.slow >= 3)
}

// passage counts the collective's steps that leave by a port.
type passage struct{ slow, all, well int }

type portSince struct {
	at   network.Port
	from int64
}

// stepsThrough counts the collective's steps that certainly leave by a port: those from
// a given time on, the slow ones among them, and those of healthy duration before it.
func (e *evidence) stepsThrough(p network.Port, from int64) passage {
	key := portSince{p, from}
	if c, ok := e.through[key]; ok {
		return c
	}
	var c passage
	for _, s := range e.tr.list[:len(e.tr.own)] {
		if !e.tr.passes(s, p) || !e.tr.route(s).Certain(p) {
			continue
		}
		for _, i := range s.steps {
			late := float64(e.t.end[i]-e.t.begin[i]) > slowFactor*float64(e.base.of(int(i)))
			switch {
			case e.t.begin[i] >= from:
				c.all++
				if late {
					c.slow++
				}
			case !late:
				c.well++
			}
		}
	}
	e.through[key] = c
	return c
}

// commonLinks explains open excess without telemetry (binary tomography): it blames a
// switch port through which all steps of two or more flows are slow while the senders'
// other steps are not.
func (a *analysis) commonLinks() {
	var left []open
	for _, o := range a.open {
		p, ok := a.commonLink(o)
		if !ok {
			left = append(left, o)
			continue
		}
		c := a.slowLinkAt(p, 0)
		c.confidence = 0.6
		c.evidence = fmt.Sprintf("all steps through %s are slow, and the same hosts' other steps are not", a.switchPort(p))
		a.give(c, o.step, o.nanos, false)
	}
	a.open = left
}

func (e *evidence) commonLink(o open) (at network.Port, ok bool) {
	s := e.stream(int(o.step))
	if s == nil || float64(o.nanos) < (slowFactor-1)*float64(e.base.of(int(o.step))) {
		return network.Port{}, false
	}
	if s.shared == nil {
		s.shared = &sharedLink{}
		s.shared.at, s.shared.ok = e.commonLinkOf(s)
	}
	return s.shared.at, s.shared.ok
}

// sharedLink is a cached result of commonLinkOf.
type sharedLink struct {
	at network.Port
	ok bool
}

// commonLinkOf returns the best matching port on a flow's path.
func (e *evidence) commonLinkOf(s *stream) (best network.Port, ok bool) {
	most := 1
	for _, p := range e.tr.route(s).Ports {
		if !e.tr.route(s).Certain(p) || !e.tr.net.Nodes[p.Node].Switch {
			continue
		}
		if _, host := e.tr.net.ToHost(p); host && !e.flowsFree(p, e.t.first, e.t.last) {
			continue // the host itself may be slow
		}
		c := e.stepsThrough(p, e.t.first)
		if c.slow == c.all && c.well == 0 && c.slow > most && e.healthyBeside(s.Source, p) && e.neverFull(p) {
			best, most, ok = p, c.slow, true
		}
	}
	return best, ok
}

// neverFull reports whether a port was underused in all of the collective's steps that
// leave by it.
func (e *evidence) neverFull(p network.Port) bool {
	h, _ := e.tr.net.Next(p) // a port of a path has a link
	for _, s := range e.tr.list[:len(e.tr.own)] {
		if !e.tr.passes(s, p) {
			continue
		}
		for _, i := range s.steps {
			if !e.underused(p, h, e.t.begin[i], e.t.end[i]) {
				return false
			}
		}
	}
	return true
}

type hostBeside struct {
	host int
	at   network.Port
}

// healthyBeside reports whether a host has steps that leave by ports other than p, and
// nearly all of them take no longer than they should.
func (e *evidence) healthyBeside(host int, p network.Port) bool {
	key := hostBeside{host, p}
	if healthy, ok := e.beside[key]; ok {
		return healthy
	}
	well, all := 0, 0
	for _, s := range e.tr.list[:len(e.tr.own)] {
		if s.Source != host || e.tr.passes(s, p) {
			continue
		}
		for _, i := range s.steps {
			all++
			if float64(e.t.end[i]-e.t.begin[i]) <= slowFactor*float64(e.base.of(int(i))) {
				well++
			}
		}
	}
	e.beside[key] = all > 0 && float64(well) >= slowSteps*float64(all)
	return e.beside[key]
}

// behindSlow explains open excess by a slow link on the step's path that other steps
// have revealed.
func (a *analysis) behindSlow() {
	at := map[string]cause{} // by the link
	for _, who := range a.names() {
		for _, s := range a.shares[who] {
			if s.class == SlowLink {
				at[who] = cause{who: who, class: SlowLink, inferred: s.inferred, object: s.object, confidence: s.confidence, evidence: s.evidence}
			}
		}
	}
	if len(at) == 0 {
		return
	}
	a.open = slices.DeleteFunc(a.open, func(o open) bool {
		s := a.stream(int(o.step))
		if s == nil {
			return false
		}
		for _, p := range a.tr.route(s).Ports {
			h, linked := a.tr.net.Next(p)
			if c, ok := at[fmt.Sprint("link ", h.Link)]; ok && linked && a.tr.route(s).Certain(p) && a.sameWay(c, p) {
				a.give(c, o.step, o.nanos, false)
				return true
			}
		}
		return false
	})
}

// sameWay reports whether a slow link was seen at a port, or, for a host's NIC port, in
// the other direction at the switch: both directions of a host's link are slow
// together.
func (e *evidence) sameWay(c cause, p network.Port) bool {
	return c.object == e.switchPort(p) || !e.tr.net.Nodes[p.Node].Switch
}
