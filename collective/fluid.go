package collective

import (
	"math"
	"slices"
	"strings"
)

// Bounds of the runs that are replayed as a fluid: work grows with the steps times the
// flows at a time.
const (
	maxFluidSteps  = 4096
	maxFluidFlows  = 256
	calibrations   = 4
	fluidTolerance = 0.05 // of the makespan, by which the replayed run may differ from the recorded one
)

// fluid replays a run as a fluid: flows share the ports that they are known to take
// max-min fairly, so that steps and other flows that meet at other times than they did,
// or no longer, go at other rates. What the recorded durations have beyond that, such as
// pauses, stays with the steps and belongs to the culprits by their shares. It is
// calibrated on the recorded run: with all culprits it gives the recorded times.
type fluid struct {
	a      *analysis
	t      *table
	caps   []float64 // payload bytes per ns of the shared ports
	flows  []fluidFlow
	places map[port]int32
	of     []int32 // flow of each step; -1: it has none
	others int     // index of the first flow beside the collective's

	alone []float64 // ns that step i lasts on an idle fabric
	scale []float64 // of the bytes of step i, 1 or less where flows shared better than fairly
	extra []float64 // ns of step i beyond its transfer
	gap   []int64   // ns from what step i needs to its begin
	next  [][]int32 // steps that wait for step i

	lost, other []int64 // ns of step i by shares of causes that a fluid has, and that it has not
}

// fluidFlow is a flow by the shared ports that it takes.
type fluidFlow struct {
	s     *stream
	ports []int32
	rate  float64 // the highest, bytes per ns
	begin int64
	last  int64 // recorded end
	bytes float64
	free  float64 // rate of its NIC
}

// newFluid prepares a replay; nil where the run is too large, or its ways are not known.
func newFluid(a *analysis) *fluid {
	t := a.t
	if len(a.tr.own) == 0 || len(t.steps) > maxFluidSteps || t.channels > 1 || len(t.run.Communicators) > 1 || t.begun || len(a.tr.all()) > maxFluidFlows {
		return nil
	}
	f := &fluid{a: a, t: t, places: map[port]int32{}}
	f.streams()
	n := len(t.steps)
	f.of, f.alone, f.scale, f.extra = make([]int32, n), make([]float64, n), make([]float64, n), make([]float64, n)
	f.gap, f.next, f.lost, f.other = make([]int64, n), make([][]int32, n), make([]int64, n), make([]int64, n)
	number := map[*stream]int32{}
	for i := range f.flows {
		number[f.flows[i].s] = int32(i)
	}
	for i := range t.steps {
		f.of[i], f.scale[i], f.alone[i] = -1, 1, float64(a.base.of(i))
		if s := a.stream(i); s != nil {
			f.of[i] = number[s]
		}
		was := t.first
		for _, p := range f.needs(i) {
			f.next[p] = append(f.next[p], int32(i))
			was = max(was, t.end[p])
		}
		f.gap[i] = t.begin[i] - was
	}
	for _, shares := range a.shares {
		for _, s := range shares {
			if s.idle {
				continue
			}
			if s.flows() {
				f.lost[s.step] += s.nanos
			} else {
				f.other[s.step] += s.nanos
			}
		}
	}
	if !f.calibrate() {
		return nil
	}
	return f
}

// flows says whether a share is what flows take of each other at a port.
func (s *share) flows() bool {
	switch s.class {
	case BackgroundFlow, SelfCollision, Incast:
		return true
	case HostNICContention:
		return s.flow != ""
	}
	return false
}

// needs are the steps that step i waits for.
func (f *fluid) needs(i int) (out []int32) {
	if p := f.t.own[i]; p >= 0 {
		out = append(out, p)
	}
	if p := f.t.awaited[i]; p >= 0 && f.t.end[p] <= f.t.end[i] {
		out = append(out, p)
	}
	return out
}

// streams lists the flows and the ports that several of them certainly take.
func (f *fluid) streams() {
	users := map[port]int{}
	for _, s := range f.a.tr.all() {
		way := f.a.tr.route(s)
		for _, p := range way.ports {
			if way.certain[p] {
				users[p]++
			}
		}
	}
	f.others = -1
	for _, s := range f.a.tr.all() {
		x := fluidFlow{s: s, free: f.payload(f.a.tr.net.nic(s.source))}
		if x.rate = x.free; s.steps == nil {
			if f.others < 0 {
				f.others = len(f.flows)
			}
			x.begin, x.last, x.bytes = s.curve[0].time, s.last().time, float64(s.last().bytes)
		}
		way := f.a.tr.route(s)
		for _, p := range way.ports {
			if !way.certain[p] || users[p] < 2 {
				continue
			}
			place, known := f.places[p]
			if !known {
				place = int32(len(f.caps))
				f.places[p] = place
				f.caps = append(f.caps, f.payload(p))
			}
			x.ports = append(x.ports, place)
		}
		f.flows = append(f.flows, x)
	}
	if f.others < 0 {
		f.others = len(f.flows)
	}
}

// payload is the bytes of payload that a port carries in a ns at its nominal rate.
func (f *fluid) payload(p port) float64 {
	rate := f.a.tr.net.fastest()
	if h, ok := f.a.tr.net.next(p); ok && f.a.tr.net.nominal[h.link] > 0 {
		rate = f.a.tr.net.nominal[h.link]
	}
	return float64(rate) / 8e9 / wireFactor / max(f.a.base.factor, 1)
}

// calibrate finds what the recorded durations have beyond those of the fluid, and the
// rates at which other flows sent, and says whether the replayed run is the recorded one.
func (f *fluid) calibrate() bool {
	makespan := float64(f.t.last - f.t.first)
	for range calibrations {
		r := f.play(counterfactual{})
		for i := range f.t.steps {
			if f.of[i] < 0 {
				f.extra[i] = float64(f.t.end[i] - f.t.begin[i])
				continue
			}
			recorded, moved := float64(f.t.end[i]-f.t.begin[i]), r.moved[i]/f.scale[i]
			f.scale[i] = min(1, recorded/max(moved, 1))
			f.extra[i] = max(0, recorded-moved)
		}
		for j := f.others; j < len(f.flows); j++ {
			x := &f.flows[j]
			if took := r.ended[j] - float64(x.begin); x.last > x.begin && took > 0 {
				x.rate = min(x.free, x.rate*took/float64(x.last-x.begin))
			}
		}
	}
	return math.Abs(f.play(counterfactual{}).makespan-makespan) <= fluidTolerance*makespan
}

// counterfactual is what a replayed run is without.
type counterfactual struct {
	less, idle []float64        // of steps, ns; nil: nothing
	gone       map[*stream]bool // flows that are not there
	open       map[int32]bool   // ports at which the collective's flows do not meet
	freed      map[*stream]bool // flows that are not held up
}

// without is the makespan of the run without some culprits, and whether flows go faster
// in it that these held up.
func (f *fluid) without(list ...ranked) (makespan int64, freed bool) {
	n := len(f.t.steps)
	c := counterfactual{less: make([]float64, n), idle: make([]float64, n), gone: map[*stream]bool{}, open: map[int32]bool{}, freed: map[*stream]bool{}}
	for _, l := range list {
		f.remove(&c, l.who)
	}
	return int64(f.play(c).makespan), len(c.freed) > 0
}

// remove takes a culprit out of a run.
func (f *fluid) remove(c *counterfactual, who string) {
	name, isFlow := strings.CutPrefix(who, "flow ")
	place, isCollision := strings.CutPrefix(who, "collision ")
	for j := range f.flows {
		if x := &f.flows[j]; isFlow && j >= f.others && x.s.name == name {
			c.gone[x.s] = true
		}
	}
	for p, at := range f.places {
		if isCollision && f.a.switchPort(p) == place {
			c.open[at] = true
		}
	}
	f.subtract(c, who)
	for j := f.others; j < len(f.flows); j++ { // flows that a host held up which pauses its switch
		if s := f.flows[j].s; who == "host "+f.a.tr.name(s.destination) && !c.freed[s] {
			c.freed[s] = true
			f.subtract(c, "flow "+s.name) // what they take now the fluid says
		}
	}
}

// subtract takes from the steps what a culprit has of their time beyond their transfers.
func (f *fluid) subtract(c *counterfactual, who string) {
	for _, s := range f.a.shares[who] {
		if s.idle {
			c.idle[s.step] += float64(s.nanos)
			continue
		}
		extra, other := f.extra[s.step], float64(f.other[s.step])
		if s.flows() {
			if rest := extra - other; rest > 0 {
				c.less[s.step] += rest * float64(s.nanos) / float64(f.lost[s.step])
			}
		} else {
			c.less[s.step] += float64(s.nanos) * min(1, extra/other)
		}
	}
}

// played is a replayed run.
type played struct {
	moved    []float64 // ns that the transfer of step i took
	ended    []float64 // when flow j ended
	makespan float64
}

// order of the calls that a steps' waits need: by time, then by number.
type fluidEvent struct {
	at   float64
	what int32 // step i: begins; len(steps)+i: ends; 2*len(steps)+j: flow j begins
}

// play runs the fluid.
func (f *fluid) play(c counterfactual) played {
	p := &player{f: f, c: c, out: played{moved: make([]float64, len(f.t.steps)), ended: make([]float64, len(f.flows))},
		missing: make([]int8, len(f.t.steps)), began: make([]float64, len(f.t.steps)), caps: slices.Clone(f.caps)}
	p.run()
	p.out.makespan = p.last - float64(f.t.first)
	return p.out
}
