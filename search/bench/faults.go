package bench

import (
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/search"
)

// makeFaults makes up to n faults that overlap by at most a third.
func (h *Hardware) makeFaults(n int) {
	for range 60 * n {
		if len(h.faults) == n {
			return
		}
		f := h.fault()
		if p := h.shareOf(f.needs); p < rarestFault || p > commonestFault || !h.apart(f.needs) {
			continue
		}
		h.faults = append(h.faults, f)
	}
}

// fault returns a random fault: it overloads a unit, under some further conditions.
func (h *Hardware) fault() fault {
	r := h.rnd
	f := fault{share: .2 + .55*r.Float64()}
	switch r.IntN(4) {
	case 0, 1:
		f.pause = .5 + 20*r.Float64()
	case 2: // pauses others at full throughput
		f.pause, f.share = .5+20*r.Float64(), 1
	}
	want := []int{2, 3, 3, 4, 4, 5}[r.IntN(6)]
	u := &h.units[r.IntN(len(h.units))]
	if u.gate != nil {
		f.needs = h.with(f.needs, *u.gate)
	}
	if len(u.loads) > 1 && r.IntN(3) == 0 {
		f.needs = h.with(f.needs, h.capacity(u.loads[0], u.loads[1]))
	} else {
		for _, l := range u.loads {
			f.needs = h.with(f.needs, h.bound(l))
		}
	}
	for range 20 {
		if len(f.needs) >= want {
			break
		}
		if r.IntN(2) == 0 {
			f.needs = h.with(f.needs, h.choice())
		} else {
			f.needs = h.with(f.needs, h.bound(load{h.ordered(), r.IntN(2) == 0}))
		}
	}
	return f
}

// with adds a need unless it shares a dimension with another.
func (h *Hardware) with(needs []need, n need) []need {
	for _, have := range needs {
		for _, d := range have.dims {
			if slices.Contains(n.dims, d) {
				return needs
			}
		}
	}
	return append(needs, n)
}

// capacity is the need that two loads together exceed a limit.
func (h *Hardware) capacity(a, b load) need {
	if a.dim == b.dim {
		return h.bound(a)
	}
	limit := 1.2 + .6*h.rnd.Float64()
	return need{dims: []int{a.dim, b.dim}, holds: func(s setting) bool { return h.level(a, s)+h.level(b, s) >= limit }}
}

// bound is a need of an ordered dimension, towards its loaded end; one in ten is a window.
// For the pattern: all messages within it, or a mix of short and long ones.
func (h *Hardware) bound(l load) need {
	r := h.rnd
	d := &h.description.Dimensions[l.dim]
	last := len(d.Values) - 1
	lo, hi := last-r.IntN((last+1)/2), last
	if l.down {
		lo, hi = 0, last-lo
	}
	if last >= 4 && r.IntN(10) == 0 {
		lo = 1 + r.IntN(last-2)
		hi = min(last-1, lo+r.IntN(2))
	}
	bounds := func(lo, hi int) (b search.Bounds) {
		if lo > 0 {
			b.Min = &d.Values[lo]
		}
		if hi < last {
			b.Max = &d.Values[hi]
		}
		return b
	}
	n := need{dims: []int{l.dim}, box: search.Condition{Bounds: bounds(lo, hi)}}
	every := func(s setting) bool {
		for _, i := range s[l.dim] {
			if i < lo || i > hi {
				return false
			}
		}
		return true
	}
	n.holds = every
	if !d.Pattern {
		return n
	}
	within := bounds(lo, hi)
	n.box = search.Condition{All: &within}
	if r.IntN(3) == 0 {
		small, large := r.IntN(last/2), last-r.IntN(last/3)
		n.box = search.Condition{Any: []search.Bounds{bounds(0, small), bounds(large, last)}}
		n.holds = func(s setting) bool {
			short, long := false, false
			for _, i := range s[l.dim] {
				short, long = short || i <= small, long || i >= large
			}
			return short && long
		}
	}
	return n
}

// any returns a setting with every value and length equally likely.
func (h *Hardware) any(r *rand.Rand) setting {
	s := make(setting, len(h.index))
	for i := range s {
		s[i] = h.description.Dimensions[i].Random(r)
	}
	return s
}

// shareOf is the share of the settings that meet needs on distinct dimensions: the product
// of the individual shares; 0: nearly all of them are infeasible.
func (h *Hardware) shareOf(needs []need) float64 {
	share := 1.
	for _, n := range needs {
		hits := 0.
		for range needSamples {
			s := make(setting, len(h.index))
			for _, d := range n.dims {
				s[d] = h.description.Dimensions[d].Random(h.rnd)
			}
			if n.holds(s) {
				hits++
			}
		}
		share *= hits / needSamples
	}
	if share == 0 {
		return 0
	}
	const members = 40 // sampled: a standard error of .07 on the quarter below
	possible := 0
	for range members {
		if h.possible(h.member(needs)) {
			possible++
		}
	}
	if possible < members/4 {
		return 0
	}
	return share
}

// member returns a random setting that meets the needs.
func (h *Hardware) member(needs []need) setting {
	s := h.any(h.rnd)
	for _, n := range needs {
		for tries := 0; tries < 50*needSamples && !n.holds(s); tries++ {
			for _, d := range n.dims {
				s[d] = h.description.Dimensions[d].Random(h.rnd)
			}
		}
	}
	return s
}

// apart reports whether a fault overlaps each other fault by at most a third, either way.
func (h *Hardware) apart(needs []need) bool {
	const members = 45 // sampled: a standard error of .07 on a third
	for i := range h.faults {
		other := h.faults[i].needs
		in, out := 0, 0
		for range members {
			if met(other, h.member(needs)) {
				in++
			}
			if met(needs, h.member(other)) {
				out++
			}
		}
		if in > members/3 || out > members/3 {
			return false
		}
	}
	return true
}

// Truth returns the MFS of each fault; empty if its needs are not of one dimension each.
func (h *Hardware) Truth() map[int]string {
	truth := map[int]string{}
	for i, f := range h.faults {
		conditions := map[string]search.Condition{}
		for _, n := range f.needs {
			if len(n.dims) == 1 {
				conditions[h.description.Dimensions[n.dims[0]].Name] = n.box
			}
		}
		truth[i+1] = ""
		if len(conditions) < len(f.needs) {
			continue
		}
		text, err := json.Marshal(conditions)
		if err != nil {
			panic(err) // conditions always marshal
		}
		truth[i+1] = string(text)
	}
	return truth
}
