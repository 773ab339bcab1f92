package collective

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/collective/network"
)

// pausedBy appends the causes of the time that step i waited behind paused ports: a
// flow at the root of the pauses that does not share a port with the step, a host that
// pauses the network by itself, or a cycle of paused ports.
func (e *evidence) pausedBy(out []cause, i int, s *stream, excess int64) []cause {
	from, to := e.t.begin[i], e.t.end[i]
	way := e.tr.route(s)
	for _, p := range way.Ports {
		if !way.Certain(p) {
			continue
		}
		paused := min(e.pauses.paused(p, from, to), excess)
		if paused < excess/20 {
			continue
		}
		for _, o := range e.pauses.origins(p, from, to) {
			out = e.ofOrigin(out, s, o, float64(paused)*o.score, from, to)
		}
	}
	return out
}

// ofOrigin appends the causes behind a root of pauses.
func (e *evidence) ofOrigin(out []cause, s *stream, o origin, weight float64, from, to int64) []cause {
	switch {
	case o.cycle != nil:
		return append(out, e.deadlock(o.cycle, weight))
	case o.host != None:
		return append(out, cause{who: e.host(o.host), class: SlowHost, object: e.host(o.host), weight: weight, confidence: 0.9,
			evidence: fmt.Sprintf("it pauses %s, and no other cause is behind it", e.switchPort(o.at))})
	case s != nil && e.tr.route(s).Certain(o.at):
		return out // the step's own port: flows that share it are blamed elsewhere
	}
	return e.atRoot(out, s, o.at, weight, from, to)
}

// atRoot appends the flows whose packets fill the queue at a root: background flows, or
// the collective's own if there are none.
func (e *evidence) atRoot(out []cause, s *stream, at network.Port, weight float64, from, to int64) []cause {
	if e.slowPort(at, from, to) {
		return append(out, e.slowLinkAt(at, weight))
	}
	filled, others := e.fillers(s, at, from, to)
	sending := e.tr.sending(from, to)
	sum := 0.0
	for k, w := range filled {
		if others == (sending[k].steps == nil) {
			sum += w
		}
	}
	for k, w := range filled {
		f := sending[k].stream
		if w == 0 || others != (f.steps == nil) {
			continue
		}
		c := cause{who: f.asCulprit(), class: PFCRoot, flow: f.Name, object: e.switchPort(at), weight: weight * w / sum, confidence: 0.85, evidence: e.words(at).filled}
		if f.steps != nil {
			c.who, c.class, c.at = e.words(at).collision, SelfCollision, at
		}
		if host, ok := e.tr.net.ToHost(at); ok && host == f.Destination && f.steps == nil {
			e.asIncast(&c, f, from, to)
		}
		out = append(out, c)
	}
	return out
}

// fillers weighs the flows at a port, in the order of sending: by packets and queue as
// switches reported them, or by bytes if no background flow was reported. others
// reports whether any is a background flow. The collective's own flows count as filling
// a queue only if several meet there.
func (e *evidence) fillers(s *stream, at network.Port, from, to int64) (filled []float64, others bool) {
	sending := e.tr.sending(from, to)
	filled = grow(&e.room.filled, len(sending))
	clear(filled)
	for _, r := range e.tr.during(at, from-window, to+window) {
		for _, row := range r.Flows {
			f := e.streamOf(row, from, to)
			if f == nil || f == s {
				continue
			}
			if k, ok := e.tr.placeOf(f, from, to); ok && sending[k].bytes > 0 {
				filled[k] += float64(row.Packets) * (1 + float64(r.QueueSum)/float64(max(r.Packets, 1)))
				others = others || f.steps == nil
			}
		}
	}
	if others {
		return filled, others
	}
	clear(filled)
	own := 0
	for k, x := range sending {
		if f := x.stream; x.bytes > 0 && f != s && e.tr.passes(f, at) && (f.steps == nil || e.tr.route(f).Certain(at)) {
			filled[k] = float64(x.bytes)
			if others = others || f.steps == nil; f.steps != nil {
				own++
			}
		}
	}
	if !others && own < 2 {
		return nil, false
	}
	return filled, others
}

// streamOf returns the flow that a telemetry row belongs to, preferably one that was
// active at the time; nil if none is known.
func (e *evidence) streamOf(row FlowReport, from, to int64) *stream {
	pair := [2]int{row.Source, row.Destination}
	if row.Collective {
		return e.tr.own[pair]
	}
	all := e.tr.of[pair]
	for _, f := range all {
		if f.sent(from-window, to+window) > 0 {
			return f
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// deadlock is the culprit of a cycle of paused ports: it names all of them, beginning
// with the lowest.
func (e *evidence) deadlock(cycle []network.Port, weight float64) cause {
	first := 0
	for i, p := range cycle {
		if p.Node < cycle[first].Node || p.Node == cycle[first].Node && p.Port < cycle[first].Port {
			first = i
		}
	}
	names := make([]string, len(cycle))
	for i := range cycle {
		names[i] = e.switchPort(cycle[(first+i)%len(cycle)])
	}
	object := strings.Join(names, ", ")
	return cause{who: "deadlock " + object, class: Deadlock, object: object, weight: weight, confidence: 0.95,
		evidence: fmt.Sprintf("%d ports wait for each other in a loop", len(cycle))}
}
