package hostping

import (
	"cmp"
	"math"
	"slices"
)

// The search for degraded links uses one fact: a path carries what its narrowest link does. A link degraded to some
// capacity explains every path through it that carries this much, and contradicts every path that carries more. The
// search finds the set of links that explains the whole matrix at the lowest cost. Algorithm 1 only knows normal and
// abnormal; it can separate neither two faults nor a link that distant paths do not fill.

// Costs, in units of half a squared standard deviation.
const (
	tolerance   = 0.05 // relative error of the model: loads, encodings, differences between hosts
	routeCost   = 9.   // upper bound of one route's cost: outliers exist
	rnicCost    = 0.5  // upper bound for a route slower than its degraded RNIC: a window's rate falls with the latency
	busyWeight  = 0.6  // of routes disturbed by service traffic
	usedBonus   = 2.   // for a link whose utilisation by counters exceeds Util_high
	suspicious  = 0.88 // ratio below which a route provides candidate capacities
	beamWidth   = 5
	maxDegraded = 8
	maxTrials   = 10 // capacities tried per link
)

// prior is the cost of accusing a link: devices, memory and buses fail, links between switches rarely do.
var prior = map[Kind]float64{Memory: 5, RootPort: 5.4, InterSocket: 5.3, PCIe: 6.5}

const devicePrior = 5. // for a link to an RNIC or GPU

// degraded is a link that carries at most exp(lnGbps) Gb/s.
type degraded struct {
	link   int
	lnGbps float64
}

// hypothesis is a set of degraded links and its cost.
type hypothesis struct {
	links []degraded
	bound []float64 // by route, ln Gb/s
	own   []bool    // by route: its bound is its RNIC's link
	cost  float64
}

func (h *hypothesis) has(link int) bool {
	return slices.ContainsFunc(h.links, func(d degraded) bool { return d.link == link })
}

// fitter searches hypotheses over the routes that are not otherwise explained.
type fitter struct {
	v       *view
	rate    []float64 // by route: ln of the measured Gb/s
	limit   []float64
	weight  []float64
	sigma   float64
	through [][]int // link -> routes
	prior   []float64
	rnic    []bool // links of RNICs, if there are several; what an RNIC shares with others, the others show
}

func newFitter(v *view) *fitter {
	n := len(v.routes)
	f := &fitter{v: v, rate: make([]float64, n), limit: make([]float64, n), weight: make([]float64, n),
		through: make([][]int, len(v.links)), prior: make([]float64, len(v.links)), rnic: make([]bool, len(v.links))}
	f.sigma = math.Hypot(v.noise, tolerance)
	ends := map[int]bool{}
	for i := range v.routes {
		r := &v.routes[i]
		f.rate[i], f.limit[i], f.weight[i] = ln(r.m.Gbps), ln(r.limit), 1
		if r.relative {
			f.weight[i] = busyWeight
		}
		ends[r.at[0]] = true
		f.rnic[r.at[0]] = len(v.in.Graph.RNICs) > 1
		if r.gpu {
			ends[r.at[len(r.at)-1]] = true
		}
		if r.explained {
			continue
		}
		for k, l := range r.at {
			if k > 0 || !r.relative { // a busy RNIC says nothing about its own link (section 4.3)
				f.through[l] = append(f.through[l], i)
			}
		}
	}
	for l, link := range v.links {
		f.prior[l] = prior[link.Kind]
		if ends[l] {
			f.prior[l] = devicePrior
		}
		if v.in.Utilisation.Links[link.ID] > overloadedShare {
			f.prior[l] -= usedBonus
		}
	}
	return f
}

// cost of a route with a given bound, which is its RNIC's (own) or another link's.
func (f *fitter) cost(route int, bound float64, own bool) float64 {
	z := (f.rate[route] - bound) / f.sigma
	most := routeCost
	if own && z < 0 {
		most = rnicCost
	}
	return f.weight[route] * min(most, z*z/2)
}

// now is a route's cost under a hypothesis.
func (f *fitter) now(h *hypothesis, route int) float64 {
	return f.cost(route, h.bound[route], h.own[route])
}

// none is the hypothesis that nothing is degraded.
func (f *fitter) none() hypothesis {
	h := hypothesis{bound: slices.Clone(f.limit), own: make([]bool, len(f.limit))}
	for i := range f.rate {
		if !f.v.routes[i].explained {
			h.cost += f.now(&h, i)
		}
	}
	return h
}

// best finds the capacity at which adding a link to a hypothesis explains most, and the resulting total cost:
// infinite if none of its routes is slow.
func (f *fitter) best(h *hypothesis, link int) (degraded, float64) {
	var trials []float64
	for _, i := range f.through[link] {
		if f.rate[i] < h.bound[i]+ln(suspicious) {
			trials = append(trials, f.rate[i])
		}
	}
	slices.Sort(trials)
	best, least := degraded{link: link}, math.Inf(1)
	for k := range min(maxTrials, len(trials)) {
		trial := trials[k*len(trials)/min(maxTrials, len(trials))]
		change := 0.
		for _, i := range f.through[link] {
			if trial < h.bound[i] {
				change += f.cost(i, trial, f.rnic[link]) - f.now(h, i)
			}
		}
		if change < least {
			least, best.lnGbps = change, trial
		}
	}
	return best, h.cost + least + f.prior[link]
}

func (f *fitter) with(h *hypothesis, d degraded, cost float64) hypothesis {
	next := hypothesis{links: append(slices.Clone(h.links), d), bound: slices.Clone(h.bound), own: slices.Clone(h.own), cost: cost}
	for _, i := range f.through[d.link] {
		if d.lnGbps < next.bound[i] {
			next.bound[i], next.own[i] = d.lnGbps, f.rnic[d.link]
		}
	}
	return next
}

// extend returns the hypotheses with one more degraded link, other than without, cheapest first.
func (f *fitter) extend(h *hypothesis, without int) []hypothesis {
	type step struct {
		d    degraded
		cost float64
	}
	var steps []step
	for l := range f.through {
		if l == without || h.has(l) {
			continue
		}
		if d, cost := f.best(h, l); cost < h.cost {
			steps = append(steps, step{d, cost})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.cost, b.cost) })
	next := make([]hypothesis, 0, beamWidth)
	for _, s := range steps[:min(beamWidth, len(steps))] {
		next = append(next, f.with(h, s.d, s.cost))
	}
	return next
}

// search returns the cheapest hypothesis that lacks a link (-1: any), by beam search from a given one.
func (f *fitter) search(from hypothesis, without int) hypothesis {
	best := from
	beam := []hypothesis{from}
	for range maxDegraded {
		var wider []hypothesis
		for i := range beam {
			for _, next := range f.extend(&beam[i], without) {
				if !slices.ContainsFunc(wider, func(h hypothesis) bool { return sameLinks(&h, &next) }) {
					wider = append(wider, next)
				}
			}
		}
		if len(wider) == 0 {
			break
		}
		slices.SortStableFunc(wider, func(a, b hypothesis) int { return cmp.Compare(a.cost, b.cost) })
		beam = wider[:min(beamWidth, len(wider))]
		if beam[0].cost < best.cost {
			best = beam[0]
		}
	}
	return f.refine(best)
}

func sameLinks(a, b *hypothesis) bool {
	return len(a.links) == len(b.links) && !slices.ContainsFunc(a.links, func(d degraded) bool { return !b.has(d.link) })
}

// refine optimises each capacity again, given the others, and drops links that are no longer needed.
func (f *fitter) refine(h hypothesis) hypothesis {
	for range 2 {
		for _, d := range slices.Clone(h.links) {
			others := f.none()
			for _, o := range h.links {
				if o.link != d.link {
					others = f.add(&others, o)
				}
			}
			h = others
			if again, cost := f.best(&others, d.link); cost < others.cost {
				h = f.with(&others, again, cost)
			}
		}
	}
	return h
}

// add returns a hypothesis with one more degraded link.
func (f *fitter) add(h *hypothesis, d degraded) hypothesis {
	cost := h.cost + f.prior[d.link]
	for _, i := range f.through[d.link] {
		if d.lnGbps < h.bound[i] {
			cost += f.cost(i, d.lnGbps, f.rnic[d.link]) - f.now(h, i)
		}
	}
	return f.with(h, d, cost)
}

// gap is how much more the best hypothesis without a link of h costs than h.
func (f *fitter) gap(h *hypothesis, link int) float64 {
	others := f.none()
	for _, o := range h.links {
		if o.link != link {
			others = f.add(&others, o)
		}
	}
	return f.search(others, link).cost - h.cost
}

// narrowed returns the routes that show a degraded link of h, the rate it allows (the median of all routes that it
// bounds), and this rate's share of the largest expected rate among them.
func (f *fitter) narrowed(h *hypothesis, d degraded) (routes []int, gbps, share float64) {
	var rates []float64
	widest := math.Inf(-1)
	for _, i := range f.through[d.link] {
		if h.bound[i] != d.lnGbps || d.lnGbps >= f.limit[i]+ln(suspicious) {
			continue
		}
		rates = append(rates, f.rate[i])
		widest = max(widest, f.limit[i])
		if f.rate[i] < f.limit[i]+ln(suspicious) {
			routes = append(routes, i)
		}
	}
	rate := Median(rates)
	return routes, math.Exp(rate), math.Exp(rate - widest)
}
