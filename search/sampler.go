package search

import (
	"math/rand/v2"
	"slices"
)

// The lift sampler: each dimension is divided into bins, and a bin is drawn in proportion to
// its lift: its frequency among the experiments with the highest signal over that among all.

const (
	drawsBefore   = 200 // a known point is accepted: nearly everything is known by then
	topShare      = .1  // of the experiments have a high signal
	freshShare    = .1  // of the proposals ignore the signals
	relaxShare    = .3  // of the proposals take over conditions of one known anomaly,
	mixShare      = .3  // of several,
	dryRelaxShare = .1  // and the same after a drought
	dryMixShare   = .2
	keepShare     = .6 // of an anomaly's conditions are taken over
)

// sampler draws the points to measure.
type sampler struct {
	*findings
	rnd   *rand.Rand
	lifts []lifts // by signal
}

func newSampler(f *findings, seed uint64) *sampler {
	return &sampler{findings: f, rnd: rand.New(rand.NewPCG(seed, 0x6769766572)), lifts: make([]lifts, len(f.description.Counters)+1)}
}

// outside draws until a point is neither known nor infeasible.
func (s *sampler) outside(draw func() point) point {
	p := draw()
	for range drawsBefore {
		if !s.covered(p) && (len(s.invalid) == 0 || !s.invalid[p.key()]) {
			break
		}
		p = draw()
	}
	return p
}

// propose draws by the lift for one or two signals, or without. It takes over conditions of
// known anomalies, or else meets a conjunction that no healthy experiment has ruled out.
func (s *sampler) propose() point {
	weights := s.weights()
	known := s.popularity()
	relaxed, mixed := relaxShare, mixShare
	if s.sinceNew() > drought {
		relaxed, mixed = dryRelaxShare, dryMixShare
	}
	u := s.rnd.Float64()
	draw := func() point {
		p := make(point, len(weights))
		for i := range weights {
			p[i] = s.space.dims[i].draw(pick(weights[i], s.rnd), uniformShare, s.rnd)
		}
		switch {
		case u < relaxed:
			s.relax(p)
		case u < relaxed+mixed:
			known.mix(p, s.rnd)
		}
		return p
	}
	if u < relaxed+mixed {
		return s.outside(draw)
	}
	return s.untested(draw)
}

// weights returns the weights of the bins of each dimension for a proposal.
func (s *sampler) weights() [][]float64 {
	weights := make([][]float64, len(s.space.dims))
	for i := range s.space.dims {
		d := &s.space.dims[i]
		weights[i] = make([]float64, d.bins())
		for b := range weights[i] {
			weights[i][b] = d.base(b)
		}
	}
	if len(s.history) < 10 || s.rnd.Float64() < freshShare {
		return weights
	}
	for range 1 + s.rnd.IntN(2) { // an anomaly may need pressure on one part of a NIC, or on two
		for i, lifts := range s.liftsOf(s.rnd.IntN(len(s.description.Counters) + 1)) {
			for b := range lifts {
				weights[i][b] *= lifts[b]
			}
		}
	}
	return weights
}

// relax gives a proposal some conditions of a known anomaly, since anomalies share them.
func (s *sampler) relax(p point) {
	known := slices.Clone(s.known)
	for _, a := range s.anomalies {
		if a.MFS != nil {
			known = append(known, a.MFS)
		}
	}
	if len(known) == 0 {
		return
	}
	f := known[s.rnd.IntN(len(known))]
	member := f.random(s.rnd)
	for _, d := range f.dimensions() {
		if s.rnd.Float64() < keepShare {
			p[d] = member[d]
		}
	}
}

// lifts caches the lifts of the bins of each dimension for a signal.
type lifts struct {
	experiments, revisions int
	of                     [][]float64
}

// staleShare is the share of the history that may be newer than the cached lifts.
const staleShare = .02

// liftsOf returns the lifts for a signal: each bin's frequency among the experiments
// with the highest signal over its frequency among all.
func (s *sampler) liftsOf(signal int) [][]float64 {
	l := &s.lifts[signal]
	if l.of == nil || l.revisions != s.revisions || float64(len(s.history)-l.experiments) > staleShare*float64(len(s.history)) {
		*l = lifts{len(s.history), s.revisions, s.countLifts(signal)}
	}
	return l.of
}

func (s *sampler) countLifts(signal int) [][]float64 {
	limit := s.top(signal, topShare, nil)
	all := make([][]float64, len(s.space.dims))
	high := make([][]float64, len(all))
	for i := range all {
		n := s.space.dims[i].bins()
		all[i], high[i] = make([]float64, n), make([]float64, n)
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
		for i := range all {
			b := e.bins[i]
			all[i][b]++
			if top {
				high[i][b]++
			}
		}
	}
	for i := range all {
		for b := range all[i] {
			all[i][b] = (high[i][b] + 1) / (all[i][b]*tops/max(1, n) + 1)
		}
	}
	return all
}
