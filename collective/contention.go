package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// meeting returns the port where two flows contend. If they leave the same host it is
// the NIC; otherwise, of the ports on both routes (certain or possible), the one where
// f met the longest queue by telemetry, else the first on the path. Ports with capacity
// for all flows between the two times are skipped.
func (e *evidence) meeting(s, f *stream, certain bool, from, to int64) (at network.Port, ok bool) {
	if s.Source == f.Source {
		return e.tr.net.NIC(s.Source), true
	}
	longest := 0.0
	way, other := e.tr.route(s), e.tr.route(f)
	mine, others := way.Ports, other.Ports
	if certain {
		mine, others = way.Sure, other.Sure
	}
	for _, p := range mine {
		if !slices.Contains(others, p) || e.roomy(p, certain, from, to) {
			continue
		}
		q := f.queues[p]
		if mean := float64(q.queue) / float64(max(q.packets, 1)); !ok || mean > longest {
			at, ok, longest = p, true, mean
		}
	}
	if !ok && s.Destination == f.Destination && e.lacksFabric() {
		return e.tr.net.NIC(s.Destination), true // no path is known, but its end is
	}
	return at, ok
}

// contention appends the background flows that shared a port with step i while it ran.
func (e *evidence) contention(out []cause, i int, s *stream, certain bool) []cause {
	from, to := e.t.begin[i], e.t.end[i]
	for _, x := range e.tr.sending(from, to) {
		f := x.stream
		if f.steps != nil || x.bytes <= 0 {
			continue
		}
		at, ok := e.meeting(s, f, certain, from, to)
		if !ok {
			continue
		}
		if _, sure := e.meeting(s, f, true, from, to); sure && !certain {
			continue // counted already
		}
		c := cause{who: f.asCulprit(), class: BackgroundFlow, flow: f.Name, object: e.switchPort(at), weight: e.wireNanos(x.bytes, at), confidence: 0.9}
		c.evidence = e.words(at).shared
		c.unpaused = c.weight
		c.weight *= 1 - e.pauses.fraction(at, from, to) // time behind a paused port is charged to the port that paused it
		if !e.tr.net.Nodes[at.Node].Switch {
			c.class, c.object = HostNICContention, e.host(at.Node)
			c.evidence = "leaves the same NIC as the collective's flow"
			if at.Node == f.Destination {
				c.class, c.evidence = BackgroundFlow, "goes to the same host as the collective's flow"
			}
		} else {
			e.asIncast(&c, f, from, to)
			e.asRoot(&c, f, from, to)
		}
		out = append(out, c)
	}
	return out
}

// together bounds how far apart two flows of one incast may begin, as a share of the
// duration of one.
const together = 0.05

// asIncast turns a cause into an incast if its flow is one of several, from different
// hosts, into one host that the collective sends to at the same time: three or more, or
// two that began together. The object is the switch port to that host.
func (e *evidence) asIncast(c *cause, f *stream, from, to int64) {
	var sources []int
	apart := int64(0) // largest difference of the begins
	for _, g := range e.tr.sending(from, to) {
		if g.steps == nil && g.Destination == f.Destination && g.bytes > 0 && !slices.Contains(sources, g.Source) {
			sources = append(sources, g.Source)
			apart = max(apart, g.curve[0].time-f.curve[0].time, f.curve[0].time-g.curve[0].time)
		}
	}
	if len(sources) == 2 && float64(apart) > together*float64(f.last().time-f.curve[0].time) {
		return
	}
	collective := slices.ContainsFunc(e.tr.sending(from, to), func(g sender) bool {
		return g.steps != nil && g.Destination == f.Destination && g.bytes > 0
	})
	if len(sources) < 2 || !collective {
		return
	}
	for _, p := range e.tr.route(f).Ports {
		if h, ok := e.tr.net.ToHost(p); ok && h == f.Destination {
			c.class, c.object = Incast, e.switchPort(p)
			c.evidence = fmt.Sprintf("one of %d flows into %s at once, beside the collective's", len(sources), e.host(f.Destination))
		}
	}
}

// rootSources is how many flows into one host make its port a root of pauses, if their
// bytes need more than rootShare of the time at that port.
const (
	rootSources = 2
	rootShare   = 0.8
)

// asRoot turns a cause into a PFC root if its flow is one of several into a host that
// the collective does not send to: the queue is at the port to that host, off the
// collective's path, so it slows the collective through pauses.
func (e *evidence) asRoot(c *cause, f *stream, from, to int64) {
	if c.class != BackgroundFlow || slices.ContainsFunc(e.tr.list, func(g *stream) bool { return g.steps != nil && g.Destination == f.Destination }) {
		return
	}
	var sources []int
	bytes := int64(0)
	for _, g := range e.tr.others {
		if g.Destination == f.Destination && g.sent(from, to) > 0 && !slices.Contains(sources, g.Source) {
			sources = append(sources, g.Source)
		}
	}
	for _, g := range e.tr.others {
		if g.Destination == f.Destination {
			bytes += g.sent(from, to)
		}
	}
	if len(sources) < rootSources {
		return
	}
	for _, p := range e.tr.route(f).Ports {
		if h, ok := e.tr.net.ToHost(p); ok && h == f.Destination && e.wireNanos(bytes, p) > rootShare*float64(to-from) {
			c.class, c.object = PFCRoot, e.switchPort(p)
			c.evidence = fmt.Sprintf("one of %d flows into %s, off the collective's path", len(sources), e.host(f.Destination))
		}
	}
}

// collisions appends the collective's own flows that shared a switch port with step i
// while it ran. Flows of one NIC are the algorithm's choice, not a collision.
func (e *evidence) collisions(out []cause, i int, s *stream, certain bool) []cause {
	from, to := e.t.begin[i], e.t.end[i]
	for _, x := range e.tr.sending(from, to) {
		o := x.stream
		if o.steps == nil {
			break // the collective's come first
		}
		if o == s || o.Source == s.Source || x.bytes == 0 {
			continue
		}
		at, ok := e.meeting(s, o, certain, from, to)
		if !ok {
			continue
		}
		if _, sure := e.meeting(s, o, true, from, to); !certain && (sure || !e.slowed(o, from, to)) {
			continue // counted already, or it lost no time
		}
		if weight := e.wireNanos(x.bytes, at); weight > float64(to-from)/50 {
			words := e.words(at)
			weight *= 1 - e.pauses.fraction(at, from, to)
			out = append(out, cause{who: words.collision, class: SelfCollision, at: at, flow: o.Name, object: words.name, weight: weight, confidence: 0.9,
				evidence: "two flows of the collective share the port"})
		}
	}
	return out
}

// slowed reports whether a flow of the collective lost time between two times: two
// flows that share a port slow each other.
func (e *evidence) slowed(s *stream, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(s.steps, from, func(step int32, at int64) int { return cmp.Compare(e.t.end[step], at) })
	for ; i < len(s.steps) && e.t.begin[s.steps[i]] < to; i++ {
		if e.base.excess(int(s.steps[i])) > 0 {
			return true
		}
	}
	return false
}
