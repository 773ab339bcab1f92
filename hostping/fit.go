package hostping

import (
	"cmp"
	"math"
	"slices"
)

// The search for degraded links rests on one fact: a path carries what its narrowest link does. A link that is
// degraded to a capacity explains every path through it that carries this much, and contradicts every one that carries
// more. The set of links is sought that explains the whole matrix at the least cost; Algorithm 1 has only normal and
// abnormal, and cannot separate two faults, nor a link that faraway paths do not fill.

// Costs, in the unit of half a squared standard deviation.
const (
	tolerance   = 0.05 // relative error of the model itself: loads, encodings, differences between hosts
	routeCost   = 9.   // the most that one route can cost: outliers exist
	rnicCost    = 0.5  // that a route slower than its degraded RNIC costs at most: a window's rate falls with the latency
	busyWeight  = 0.6  // of routes that service traffic disturbs
	usedBonus   = 2.   // for a link that counters show to be in use beyond Util_high
	suspicious  = 0.88 // ratio below which a route takes part in the choice of capacities
	beamWidth   = 5
	maxDegraded = 8
	maxTrials   = 10 // capacities tried per link
)

// prior is what it costs to accuse a link: devices, memory and buses fail, links between switches hardly.
var prior = map[Kind]float64{Memory: 5, RootPort: 5.4, InterSocket: 5.3, PCIe: 6.5}

const devicePrior = 5. // of a link with an RNIC or GPU at its end

// degraded is a link that carries at most 2.718^lnGbps.
type degraded struct {
	link   int
	lnGbps float64
}

// hypothesis is a set of degraded links and what it costs.
type hypothesis struct {
	links []degraded
	bound []float64 // of each route, ln Gb/s
	own   []bool    // whether what bounds a route is its RNIC
	cost  float64
}

func (h *hypothesis) has(link int) bool {
	return slices.ContainsFunc(h.links, func(d degraded) bool { return d.link == link })
}

// fitter searches hypotheses over the routes that nothing else explains.
type fitter struct {
	v       *view
	rate    []float64 // ln of what each route carries
	limit   []float64
	weight  []float64
	sigma   float64
	through [][]int // link -> routes
	prior   []float64
	rnic    []bool // links of RNICs, where there are several: what one shares with others, others show
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
			if k > 0 || !r.relative { // what a busy RNIC's own link carries nothing can say (section 4.3)
				f.through[l] = append(f.through[l], i)
			}
		}
	}
	for l, link := range v.links {
		f.prior[l] = prior[link.Kind]
		if ends[l] {
			f.prior[l] = devicePrior
		}
		if v.in.Utilisation.Links[link.ID] > OverloadedShare {
			f.prior[l] -= usedBonus
		}
	}
	return f
}

// cost of a route that is bounded so, by its RNIC or by another link.
func (f *fitter) cost(route int, bound float64, own bool) float64 {
	z := (f.rate[route] - bound) / f.sigma
	most := routeCost
	if own && z < 0 {
		most = rnicCost
	}
	return f.weight[route] * min(most, z*z/2)
}

// now is what a route costs under a hypothesis.
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

// best finds the capacity at which a link explains most in addition to a hypothesis, and what the total then costs.
func (f *fitter) best(h *hypothesis, link int) (degraded, float64, bool) {
	var trials []float64
	for _, i := range f.through[link] {
		if f.rate[i] < h.bound[i]+ln(suspicious) {
			trials = append(trials, f.rate[i])
		}
	}
	if len(trials) == 0 {
		return degraded{}, 0, false
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
	return best, h.cost + least + f.prior[link], true
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

// extend gives the hypotheses with one more degraded link, other than those left out, the cheapest first.
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
		if d, cost, ok := f.best(h, l); ok && cost < h.cost {
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

// search gives the cheapest hypothesis that lacks a link, -1 for any; a beam search from a hypothesis on.
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
	if len(a.links) != len(b.links) {
		return false
	}
	for _, d := range a.links {
		if !b.has(d.link) {
			return false
		}
	}
	return true
}

// refine chooses each capacity again, given the others, and leaves out links that are no longer needed.
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
			if again, cost, ok := f.best(&others, d.link); ok && cost < others.cost {
				h = f.with(&others, again, cost)
			}
		}
	}
	return h
}

// add is a hypothesis with a given degraded link.
func (f *fitter) add(h *hypothesis, d degraded) hypothesis {
	cost := h.cost + f.prior[d.link]
	for _, i := range f.through[d.link] {
		if d.lnGbps < h.bound[i] {
			cost += f.cost(i, d.lnGbps, f.rnic[d.link]) - f.now(h, i)
		}
	}
	return f.with(h, d, cost)
}

// gap is by how much the best hypothesis without a link of h costs more than h.
func (f *fitter) gap(h *hypothesis, link int) float64 {
	others := f.none()
	for _, o := range h.links {
		if o.link != link {
			others = f.add(&others, o)
		}
	}
	return f.search(others, link).cost - h.cost
}

// narrowed are the routes that show a degraded link of h, the rate it lets through, as the median of all routes that it
// bounds, and the share this is of what the widest of them would carry.
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
