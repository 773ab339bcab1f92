package search

import (
	"math"
	"math/rand/v2"
)

// The lift sampler: every dimension is cut into bins, a bin is drawn by how much
// more often it is among the experiments with the highest signal than among all.

// Bins of an ordered dimension.
const (
	lowest = iota
	lowerHalf
	upperHalf
	highest
	orderedBins
)

// Bins of a pattern: all small, all of the middle, all large, small and large mixed,
// any.
const (
	smallOnly = iota
	middleOnly
	largeOnly
	mixed
	anyPattern
	patternBins
)

var (
	orderedBase = [orderedBins]float64{.35, .15, .15, .35}
	patternBase = [patternBins]float64{.2, .2, .2, .2, .2}
)

const (
	refineCost   = 20 // probes that an anomaly's thresholds need, about
	quiet        = 60 // experiments without a new anomaly after which one is refined
	auditEvery   = 15 // proposals
	drawsBefore  = 200
	topShare     = .1 // of the experiments show a high signal
	freshShare   = .1 // of the proposals regard no signal
	uniformShare = .5 // of the patterns have one size
)

// bins is how many a dimension has.
func (d *Dimension) bins() int {
	switch {
	case d.Pattern:
		return patternBins
	case d.Ordered && len(d.Values) > 1:
		return orderedBins
	}
	return len(d.Values)
}

// base is the weight of a bin before anything is known; 0: it is empty.
func (d *Dimension) base(bin int) float64 {
	n := len(d.Values)
	switch {
	case d.Pattern:
		if bin == mixed && (n < 2 || d.MaxLength < 2) {
			return 0
		}
		return patternBase[bin]
	case d.Ordered && n > 1:
		if n == 2 && (bin == lowerHalf || bin == upperHalf) || n == 3 && bin == upperHalf {
			return 0
		}
		return orderedBase[bin]
	}
	return 1 / float64(n)
}

// bin is where a coordinate belongs.
func (d *Dimension) bin(at []int) int {
	n := len(d.Values)
	if d.Pattern {
		return d.patternBin(at)
	}
	if !d.Ordered || n == 1 {
		return at[0]
	}
	switch i := at[0]; {
	case i == 0:
		return lowest
	case i == n-1:
		return highest
	case i < (n+1)/2:
		return lowerHalf
	}
	return upperHalf
}

// third of a pattern's values: small, middle or large.
func (d *Dimension) third(i int) int { return 3 * i / len(d.Values) }

func (d *Dimension) patternBin(at []int) int {
	var seen [3]bool
	for _, i := range at {
		seen[d.third(i)] = true
	}
	switch seen {
	case [3]bool{true, false, false}:
		return smallOnly
	case [3]bool{false, true, false}:
		return middleOnly
	case [3]bool{false, false, true}:
		return largeOnly
	case [3]bool{true, false, true}:
		return mixed
	}
	return anyPattern
}

// draw is a coordinate in a bin.
func (d *Dimension) draw(bin int, r *rand.Rand) []int {
	n := len(d.Values)
	if d.Pattern {
		return d.drawPattern(bin, r)
	}
	if !d.Ordered || n == 1 {
		return []int{bin}
	}
	switch bin {
	case lowest:
		return []int{0}
	case highest:
		return []int{n - 1}
	case lowerHalf:
		return []int{1 + r.IntN(max(1, (n+1)/2-1))}
	}
	lo := (n + 1) / 2
	return []int{lo + r.IntN(max(1, n-1-lo))}
}

func (d *Dimension) drawPattern(bin int, r *rand.Rand) []int {
	at := d.random(r)
	if r.Float64() < uniformShare {
		at = at[:1]
	}
	if bin == mixed && len(at) < 2 {
		at = append(at, 0)
	}
	n := len(d.Values)
	from := func(third int) int {
		lo, hi := (third*n+2)/3, ((third+1)*n+2)/3
		return min(n-1, lo+r.IntN(max(1, hi-lo)))
	}
	for k := range at {
		switch bin {
		case smallOnly, middleOnly, largeOnly:
			at[k] = from(bin)
		case mixed:
			at[k] = from(2 * r.IntN(2))
		}
	}
	if bin == mixed {
		k := r.IntN(len(at))
		at[k], at[(k+1)%len(at)] = from(0), from(2)
	}
	return at
}

// lift searches by the lift sampler, takes every anomaly apart, and checks what it
// has from time to time.
func (s *Search) lift(w *worker) {
	for step := 1; ; step++ {
		if a := s.due(); a != nil && !s.refine(w, a) {
			return
		}
		if step%auditEvery == 0 && !s.audit(w) {
			return
		}
		e, ok := w.measure(s.propose())
		if !ok || !s.handle(w, e) {
			return
		}
	}
}

// handle takes apart what an experiment showed, if it is new. It is false when the
// search is over.
func (s *Search) handle(w *worker, e *experiment) bool {
	for e.symptom != Healthy && !s.covered(e.point) {
		a := s.neighbour(e)
		if a == nil {
			return s.minimize(w, e)
		}
		if !s.refine(w, a) {
			return false
		}
	}
	return true
}

// neighbour is an anomaly that is not refined and that an experiment may belong to: it
// shows the same symptom, and one dimension without order has another value.
func (s *Search) neighbour(e *experiment) *Anomaly {
	for _, a := range s.anomalies {
		if a.MFS == nil || a.open == nil || a.Symptom != e.symptom {
			continue
		}
		if broken := a.MFS.broken(e.point); len(broken) == 1 && !s.space.dims[broken[0]].hasOrder() && a.open.same(e) {
			return a
		}
	}
	return nil
}

// due is the anomaly to refine now: the oldest, when what is left of the budget is little
// more than what all need.
func (s *Search) due() *Anomaly {
	var first *Anomaly
	n := 0
	for _, a := range s.anomalies {
		if a.MFS != nil && a.open != nil {
			n++
			if first == nil {
				first = a
			}
		}
	}
	if n > 0 && (s.cfg.Budget-s.experiments <= 2*n*refineCost || s.experiments-s.anomalies[len(s.anomalies)-1].base.number > quiet) {
		return first
	}
	return nil
}

// random is the baseline: no signal, and the same care with what it finds.
func (s *Search) random(w *worker) {
	for {
		if a := s.due(); a != nil && !s.refine(w, a) {
			return
		}
		e, ok := w.measure(s.outside(func() point { return s.space.random(s.rnd) }))
		if !ok || !s.handle(w, e) {
			return
		}
	}
}

// outside draws until a point is neither known nor impossible.
func (s *Search) outside(draw func() point) point {
	p := draw()
	for range drawsBefore {
		if !s.invalid[p.key()] && !s.covered(p) {
			break
		}
		p = draw()
	}
	return p
}

// propose draws by lift for one signal, or afresh.
func (s *Search) propose() point {
	weights := make([][]float64, len(s.space.dims))
	for i := range s.space.dims {
		d := &s.space.dims[i]
		weights[i] = make([]float64, d.bins())
		for b := range weights[i] {
			weights[i][b] = d.base(b)
		}
	}
	if len(s.history) >= 10 && s.rnd.Float64() >= freshShare {
		s.weigh(weights, s.pickSignal())
	}
	return s.outside(func() point {
		p := make(point, len(weights))
		for i := range weights {
			p[i] = s.space.dims[i].draw(pick(weights[i], s.rnd), s.rnd)
		}
		return p
	})
}

// weigh multiplies the weight of each bin with its lift for a signal.
func (s *Search) weigh(weights [][]float64, signal int) {
	limit := s.top(signal, topShare, nil)
	all := make([][]float64, len(weights))
	high := make([][]float64, len(weights))
	for i := range weights {
		all[i], high[i] = make([]float64, len(weights[i])), make([]float64, len(weights[i]))
	}
	n, tops := 0., 0.
	for _, e := range s.history {
		if e.covered {
			continue
		}
		n++
		top := e.signals[signal] >= limit
		if top {
			tops++
		}
		for i := range weights {
			b := s.space.dims[i].bin(e.point[i])
			all[i][b]++
			if top {
				high[i][b]++
			}
		}
	}
	for i := range weights {
		for b := range weights[i] {
			weights[i][b] *= (high[i][b] + 1) / (all[i][b]*tops/max(1, n) + 1)
		}
	}
}

// pick draws an index by weight.
func pick(weights []float64, r *rand.Rand) int {
	sum := 0.
	for _, w := range weights {
		sum += w
	}
	at := r.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// pickSignal prefers those that vary most (Collie, section 7.2).
func (s *Search) pickSignal() int {
	w := make([]float64, len(s.limits))
	for i, l := range s.limits {
		if l.mean != 0 {
			w[i] = l.deviation() / math.Abs(l.mean)
		}
	}
	return pick(w, s.rnd)
}
