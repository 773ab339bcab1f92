package collective

import (
	"fmt"

	"github.com/giverny/giverny/collective/network"
)

// evidence is what the records and the telemetry of one run show of its steps, ports and hosts. It blames nothing: an answer depends
// on the run alone, not on what other steps are blamed on.
type evidence struct {
	t      *table
	tr     *traffic
	room   *scratch
	pauses *pauses
	base   *baseline

	answers
}

func newEvidence(t *table, tr *traffic, room *scratch) *evidence {
	return &evidence{t: t, tr: tr, room: room, pauses: newPauses(t.run, tr, t.last), base: newBaseline(t, tr, t.channels),
		answers: answers{through: map[portSince]passage{}, beside: map[hostBeside]bool{}}}
}

// answers caches the results of repeated queries.
type answers struct {
	through map[portSince]passage // stepsThrough
	beside  map[hostBeside]bool   // healthyBeside
	slacks  []int64               // slack
}

// cause is why one step took longer: who, where, and its weight: the nanoseconds that
// it took of the step through the capacity it used.
type cause struct {
	who        string // the culprit's identity over all steps
	class      Class
	flow       string
	object     string
	weight     float64
	unpaused   float64 // of a background flow: its weight if nothing paused the port
	most       int64   // see share
	confidence float64
	evidence   string
	inferred   bool         // from the behaviour of flows and queues, not from a direct record
	at         network.Port // of a collision: the port that is its object
}

func (e *evidence) switchPort(p network.Port) string { return e.words(p).name }

func (e *evidence) words(p network.Port) *portWords {
	return e.tr.net.words(p)
}

func (e *evidence) host(node int) string { return "host " + e.tr.name(node) }

// stream returns the flow that step i belongs to; nil where the hosts are unknown.
func (e *evidence) stream(i int) *stream {
	if len(e.tr.steps) == 0 {
		return nil
	}
	return e.tr.steps[i]
}

// causes returns the reasons for the excess of step i that the records show. Causes
// that are only possible (on one of several equal paths) count only if no certain one
// is known. The result is valid until the next call.
func (e *evidence) causes(i int, excess int64) []cause {
	s := e.stream(i)
	if s == nil {
		return nil
	}
	known := append(e.room.known[:0], e.slowLinks(i, e.tr.route(s).SlowAt)...)
	known = e.contention(known, i, s, true)
	known = e.collisions(known, i, s, true)
	known = e.pausedBy(known, i, s, excess)
	e.room.known = known
	if sumOf(known) >= float64(excess)/4 {
		return known
	}
	if slow := e.slowPorts(i, s); len(slow) > 0 {
		return append(known, slow...)
	}
	if slow := e.stem(i, s, excess); len(slow) > 0 && len(known) == 0 {
		return slow
	}
	n := len(known)
	known = append(known, e.slowLinks(i, e.tr.route(s).MaybeSlow)...)
	known = e.contention(known, i, s, false)
	known = e.collisions(known, i, s, false)
	for j := range known[n:] {
		known[n+j].confidence /= 2
	}
	e.room.known = known
	return known
}

func sumOf(causes []cause) float64 {
	sum := 0.0
	for _, c := range causes {
		sum += c.weight
	}
	return sum
}

// wireNanos is how long a payload of so many bytes occupies a port.
func (e *evidence) wireNanos(bytes int64, p network.Port) float64 {
	rate := int64(0)
	if h, ok := e.tr.net.Next(p); ok {
		rate = e.tr.net.Links[h.Link].BitsPerSecond
	}
	if rate <= 0 {
		rate = e.tr.net.Fastest
	}
	return float64(bytes) * 8 * wireFactor * ackFactor / float64(rate) * 1e9
}

// slowLinks returns the links on a step's path that run below their nominal rate.
func (e *evidence) slowLinks(i int, at []network.Port) []cause {
	var out []cause
	for _, p := range at {
		h, _ := e.tr.net.Next(p) // a port of a path has a link
		link := e.tr.net.Links[h.Link]
		weight := e.wireNanos(e.t.steps[i].Bytes, p) * (1 - float64(link.BitsPerSecond)/float64(e.tr.net.Nominal(h)))
		evidence := fmt.Sprintf("the link runs at %.3g of %.3g Gb/s", float64(link.BitsPerSecond)/1e9, float64(e.tr.net.Nominal(h))/1e9)
		if link.ErrorRate > 0 {
			weight += float64(e.t.end[i] - e.t.begin[i] - e.base.of(i))
			evidence += fmt.Sprintf(", and loses %.3g%% of the packets", 100*link.ErrorRate)
		}
		place := p
		if !e.tr.net.Nodes[p.Node].Switch {
			place = network.Port{Node: h.Peer, Port: h.PeerPort}
		}
		out = append(out, cause{who: fmt.Sprint("link ", h.Link), class: SlowLink, object: e.switchPort(place), weight: weight, confidence: 0.9, evidence: evidence})
	}
	return out
}

// slack returns the table's slack, computed once.
func (e *evidence) slack() []int64 {
	if e.slacks == nil {
		e.slacks = e.t.slack()
	}
	return e.slacks
}
