package collective

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// window is how far in time a report or a pause may lie from a step to be used for it:
// the simulation polls a flow at most once in 3 ms.
const window = 5_000_000

// pauses answers queries about when which port was paused.
type pauses struct {
	end int64 // end of pauses that were not resumed
	tr  *traffic

	asked   interval                // time range of the last query; below, its cached results
	exited  map[network.Port][]exit // what was found for it
	passing map[int][]passing       // by node; nil until asked for
	roots   map[network.Port]int    // of once
}

type interval struct{ from, to int64 }

// newPauses pairs pauses with resumes. A port that was never resumed stays paused until
// the end of the run.
func newPauses(run *Run, tr *traffic, last int64) *pauses {
	p := &pauses{tr: tr, exited: map[network.Port][]exit{}, roots: map[network.Port]int{}}
	for i := range run.Telemetry {
		r := &run.Telemetry[i]
		if before, ok := tr.net.Next(network.Port{Node: r.Switch, Port: r.In}); ok && r.Signal {
			at := network.Port{Node: before.Peer, Port: before.PeerPort}
			of := tr.net.observed.At(at)
			of.signals = append(of.signals, r.TimeNanos)
		}
	}
	frames := slices.Clone(run.Pauses)
	slices.SortStableFunc(frames, func(a, b Pause) int { return cmp.Compare(a.TimeNanos, b.TimeNanos) })
	since := map[network.Port]int64{}
	for _, f := range frames {
		at := network.Port{Node: f.Node, Port: f.Port}
		from, paused := since[at]
		switch {
		case f.Resume && paused:
			p.add(at, interval{from, f.TimeNanos})
			delete(since, at)
		case !f.Resume && !paused:
			since[at] = f.TimeNanos
		}
		last = max(last, f.TimeNanos)
	}
	p.end = last
	for at, from := range since {
		p.add(at, interval{from, last})
	}
	return p
}

func (p *pauses) add(at network.Port, x interval) {
	of := p.tr.net.observed.At(at)
	of.intervals = append(of.intervals, x)
}

// time is how long PFC frames paused a port between two times.
func (p *pauses) time(at network.Port, from, to int64) int64 {
	of := p.tr.net.observed.Get(at)
	if of == nil {
		return 0
	}
	list := of.intervals
	i, _ := slices.BinarySearchFunc(list, from, func(x interval, t int64) int { return cmp.Compare(x.to, t) })
	sum := int64(0)
	for ; i < len(list) && list[i].from < to; i++ {
		sum += min(list[i].to, to) - max(list[i].from, from)
	}
	return max(sum, 0)
}

// share is the share of packets that found a port paused between two times, by
// telemetry; known is false if no report covers the time.
func (p *pauses) share(at network.Port, from, to int64) (share float64, known bool) {
	var paused, packets int64
	for _, r := range p.tr.during(at, from, to) {
		paused += r.Paused
		packets += r.Packets
	}
	if packets == 0 && paused > 0 {
		return 1, true
	} else if packets == 0 {
		return 0, false
	}
	return min(float64(paused)/float64(packets), 1), true
}

// during returns the reports of a port that overlap a time range.
func (tr *traffic) during(at network.Port, from, to int64) []*PortReport {
	of := tr.net.observed.Get(at)
	if of == nil {
		return nil
	}
	reads := of.reads
	i, _ := slices.BinarySearchFunc(reads, from, func(r *PortReport, t int64) int { return cmp.Compare(r.LastNanos, t) })
	end := i
	for end < len(reads) && reads[end].EpochNanos <= to {
		end++
	}
	return reads[i:end]
}

// paused is how long a port was paused between two times, by PFC frames or by the share
// of its packets that telemetry saw waiting, whichever is larger.
func (p *pauses) paused(at network.Port, from, to int64) int64 {
	return int64(p.fraction(at, from, to) * float64(to-from))
}

// fraction is the share of a time range for which a port was paused.
func (p *pauses) fraction(at network.Port, from, to int64) float64 {
	share, _ := p.share(at, from, to)
	return max(float64(p.time(at, from, to))/float64(max(to-from, 1)), share)
}

// stands reports whether a port was paused at all between two times: by frames, by its
// packets, or because a telemetry signal followed its pause to the next switch.
func (p *pauses) stands(at network.Port, from, to int64) bool {
	if p.fraction(at, from, to) > 0 {
		return true
	}
	of := p.tr.net.observed.Get(at)
	return of != nil && slices.ContainsFunc(of.signals, func(t int64) bool { return t >= from && t <= to })
}

// origin is a root of a pause.
type origin struct {
	at    network.Port   // the egress port whose queue causes the pause, or that leads to the host causing it
	host  int            // the host that pauses it; None where a queue is the cause
	cycle []network.Port // the ports of a loop, in order; nil where there is none
	score float64        // share of the pause, over all origins 1
}

// origins follows a paused port to the roots of its pause, downstream from the victim
// (Hawkeye's provenance). Each egress port of the next switch that the paused traffic
// goes to is a root unless it is paused itself. Its weight is the queue there times its
// share of the traffic.
func (p *pauses) origins(at network.Port, from, to int64) []origin {
	if asked := (interval{from, to}); asked != p.asked {
		p.asked, p.passing = asked, nil
		clear(p.exited)
	}
	return p.once(p.follow(at, from, to, nil, 1))
}

// once merges duplicate roots, adding up their scores over all paths.
func (p *pauses) once(roots []origin) []origin {
	clear(p.roots)
	out := roots[:0]
	for _, o := range roots {
		at, known := p.roots[o.at]
		if known && o.cycle == nil {
			out[at].score += o.score
			continue
		}
		if o.cycle == nil {
			p.roots[o.at] = len(out)
		}
		out = append(out, o)
	}
	return out
}

// leastFollowed is the smallest part of a pause that is traced further: if a whole
// fabric is paused, the paths to the roots are too many to enumerate. A port with a
// smaller part is taken as a root.
const leastFollowed = 1e-3

// follow is the recursion of origins: behind are the ports already visited, part the
// share of the pause.
func (p *pauses) follow(at network.Port, from, to int64, behind []network.Port, part float64) []origin {
	for i, b := range behind {
		if b == at {
			return []origin{{at: at, host: None, cycle: slices.Clone(behind[i:]), score: 1}}
		}
	}
	h, ok := p.tr.net.Next(at)
	if !ok {
		return nil
	}
	if !p.tr.net.Nodes[h.Peer].Switch {
		return []origin{{at: at, host: h.Peer, score: 1}}
	}
	if len(behind) > len(p.tr.net.Nodes) {
		return nil
	}
	behind = append(behind, at)
	var out []origin
	for _, e := range p.exits(at, h, from, to) {
		found := []origin{{at: e.at, host: None, score: 1}}
		if further := part * e.share; further >= leastFollowed && p.stands(e.at, from-window, to+window) {
			if deeper := p.follow(e.at, from, to, behind, further); len(deeper) > 0 {
				found = deeper
			}
		}
		for _, o := range found {
			o.score *= e.share
			out = append(out, o)
		}
	}
	return out
}

// exit is an egress port downstream of a paused link, and its share of the pause.
type exit struct {
	at    network.Port
	share float64
}

// pausedWeight is the weight of a paused port relative to a queue of one packet.
const pausedWeight = 100

// exits is weigh, cached for the time range of the query.
func (p *pauses) exits(at network.Port, h network.Hop, from, to int64) []exit {
	out, known := p.exited[at]
	if !known {
		out = p.weigh(at, h, from, to)
		p.exited[at] = out
	}
	return out
}

// weigh weighs the egress ports of the switch downstream of a paused link.
func (p *pauses) weigh(at network.Port, h network.Hop, from, to int64) []exit {
	out := make([]exit, 0, len(p.tr.net.Hops(h.Peer)))
	sum := 0.0
	for _, e := range p.tr.net.Hops(h.Peer) {
		if e.Port != h.PeerPort {
			q := network.Port{Node: h.Peer, Port: e.Port}
			x := exit{q, p.metered(q, h.PeerPort, from, to)}
			sum += x.share
			out = append(out, x)
		}
	}
	if sum == 0 {
		through, beside := p.pressure(at, out)
		for i := range out {
			x := &out[i]
			if x.share = through[i] * beside[i]; p.time(x.at, from, to) > 0 {
				x.share = pausedWeight * through[i] * (through[i] + beside[i])
			}
			sum += x.share
		}
	}
	best := 0.0
	for _, x := range out {
		best = max(best, x.share)
	}
	out = slices.DeleteFunc(out, func(x exit) bool { return x.share <= 0 || x.share < best/10 })
	slices.SortFunc(out, func(a, b exit) int { return a.at.Port - b.at.Port })
	sum = 0 // the pause is that of the exits that remain
	for _, x := range out {
		sum += x.share
	}
	for i := range out {
		out[i].share /= sum
	}
	return out
}

// metered weighs an egress port by telemetry: the bytes it had from the paused link,
// times the mean queue that packets found, or whether it was paused itself.
func (p *pauses) metered(q network.Port, in int, from, to int64) float64 {
	sum := 0.0
	for _, r := range p.tr.during(q, from-window, to+window) {
		if !r.Signal || r.In != in || r.MeterBytes == 0 {
			continue
		}
		queue := 0.01 // a port without a queue contributes almost nothing to a pause
		if r.Packets > 0 {
			queue += float64(r.QueueSum) / float64(r.Packets)
			queue += pausedWeight * float64(r.Paused) / float64(r.Packets)
		} else if r.Paused > 0 {
			queue += pausedWeight
		}
		sum += float64(r.MeterBytes) * queue
	}
	return sum
}

// passing is a flow that leaves a node by a port.
type passing struct {
	port  network.Port
	ports []network.Port // of its whole path
	bytes float64
}

// passingAt returns the flows active in the query's time range that leave a node.
func (p *pauses) passingAt(node int) []passing {
	if p.passing == nil {
		p.passing = map[int][]passing{}
		for _, s := range p.tr.sending(p.asked.from, p.asked.to) {
			ports := p.tr.route(s.stream).Ports
			for _, q := range ports {
				p.passing[q.Node] = append(p.passing[q.Node], passing{q, ports, float64(s.bytes)})
			}
		}
	}
	return p.passing[node]
}

// pressure returns the inputs for weighing egress ports where no meter was recorded:
// the bytes of the known flows through both the paused port and the exit, and of those
// that reach the exit from elsewhere.
func (p *pauses) pressure(at network.Port, exits []exit) (through, beside []float64) {
	through, beside = make([]float64, len(exits)), make([]float64, len(exits))
	for i, x := range exits {
		for _, f := range p.passingAt(x.at.Node) {
			switch {
			case f.port != x.at:
			case slices.Contains(f.ports, at):
				through[i] += f.bytes
			default:
				beside[i] += f.bytes
			}
		}
	}
	return through, beside
}
