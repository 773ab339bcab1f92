package trees

import "math"

var (
	useRates   = env("R_RATES", 1)
	useSibling = env("R_SIB", 1)
	useEM      = env("R_EM", 1)
	mostSib    = env("R_MOSTSIB", 8)
	mostLone   = int(env("R_LONE", 1))
	fewUp      = int(env("R_FEWUP", 1))
)

// findRates estimates for each cause the chance that hosts wait for it, from leaves whose uplinks wait for it alone.
func (h *shares) findRates(t *trees, s *sinks, c *causes) {
	if len(h.rates) != len(h.fall) {
		h.rates, h.rateNo = make([]float64, len(h.fall)), make([]float64, len(h.fall))
	}
	clear(h.rates)
	clear(h.rateNo)
	for d := range int32(len(t.seen)) {
		if !t.waits.isLeaf(d) {
			continue
		}
		only, up, isOne := int32(-1), 0, true
		for _, i := range t.leaving.of(d) {
			if t.toHost(i) {
				continue
			}
			up++
			for _, p := range h.of[i].list() {
				if only < 0 {
					only = p.cause
				}
				isOne = isOne && p.cause == only
			}
		}
		if a := s.at[d]; up == 0 && a >= 0 {
			only = c.sets.Find(a)
		} else if up < fewUp {
			continue
		}
		if only < 0 || !isOne {
			continue
		}
		if t.stalledHosts(d) > 0 {
			h.rates[only]++
		} else {
			h.rateNo[only]++
		}
	}
	for k := range h.rates {
		h.rates[k] = (h.rates[k] + .5) / (h.rates[k] + h.rateNo[k] + 1)
	}
}

// missingCost is what it costs that a leaf's uplink waits for a cause although other uplinks that may wait for it do not stall.
func (h *shares) missingCost(t *trees, i, cause int32) float64 {
	leaf, calm, all := t.from[i], 0, 0
	for _, l := range t.waits.out.of(leaf) {
		if !t.waits.isUp(l) || t.values[l] < 0 {
			continue
		}
		mayWait := false
		for _, j := range t.leaving.of(t.waits.to[l]) {
			if h.of[j].has(cause) && t.waits.mayWait(l, t.links[j]) {
				mayWait = true
				break
			}
		}
		if !mayWait {
			continue
		}
		all++
		if t.node[l] < 0 {
			calm++
		}
	}
	if calm == 0 || all-calm > mostLone {
		return 0
	}
	flows := max(1, t.stalledHosts(leaf))
	return min(mostSib, float64(flows)*math.Log(float64(all)/float64(all-calm))) / math.Sqrt2
}
