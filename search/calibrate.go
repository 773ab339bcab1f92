package search

import "math"

// An engine may not know what its hosts can do with small packets, which the CPU that
// posts them holds back. When many measurements have packets of about one size, whatever
// else their workloads have, and none comes near either bound, then the size is slow and
// that is no anomaly: the best of them is the bound for packets of that size.

const (
	calibrating = 20  // measurements of a size: probes of one anomaly seldom show it as often in a row
	sameSize    = 1.1 // factor within which packets count as of one size
	// nearBound is the share of a bound that sizes reach for which it is right. It is more than
	// throughputLimit, because workloads without an anomaly lose some throughput too: where the
	// best reaches 85%, those would be below 80%.
	nearBound = .88
)

// sizeRates is the packet rates that were measured, one of each direction.
type sizeRates []sizeRate

type sizeRate struct {
	sizeBytes, mpps float64
	slow            bool // near neither bound
}

// add keeps a measurement during which no host paused.
func (r *sizeRates) add(d *Description, m *Measurement) {
	for _, dir := range m.Directions {
		*r = append(*r, sizeRate{dir.SizeBytes, dir.Mpps, d.share(dir, d.packetRate(dir.SizeBytes)) < nearBound})
	}
}

// reachable is the packet rate that hosts reach with packets of a size; 0: that is not known
// to be less than the bound.
func (r sizeRates) reachable(sizeBytes float64) float64 {
	if !(sizeBytes > 0) { // the engine does not say it
		return 0
	}
	n, best := 0, 0.
	for _, x := range r {
		if !similarSize(x.sizeBytes, sizeBytes) {
			continue
		}
		if !x.slow {
			return 0
		}
		n++
		best = max(best, x.mpps)
	}
	if n < calibrating {
		return 0
	}
	return best
}

func similarSize(a, b float64) bool { return a <= b*sameSize && b <= a*sameSize }

// throughput is the worst direction's share of what the nearer bound allows, the bound of
// packets as it is known by now.
func (s *Search) throughput(m *Measurement) float64 {
	worst := math.Inf(1)
	for _, dir := range m.Directions {
		share := s.description.share(dir, s.description.packetRate(dir.SizeBytes))
		if share < throughputLimit {
			if best := s.rates.reachable(dir.SizeBytes); best > 0 {
				share = s.description.share(dir, best)
			}
		}
		worst = min(worst, share)
	}
	return worst
}

// judge says what a new measurement shows. When it is slow, and so are all with packets of
// its size, the earlier ones are judged again.
func (s *Search) judge(e *experiment) {
	e.symptom = s.description.Judge(&e.result)
	if e.symptom != Pause {
		s.rates.add(&s.description, &e.result)
	}
	e.signals = s.signals(&e.result)
	if e.symptom != Throughput {
		return
	}
	if e.throughput() >= throughputLimit {
		e.symptom = Healthy
	}
	for _, dir := range e.result.Directions {
		if s.rates.reachable(dir.SizeBytes) > 0 {
			s.judgeAgain(dir.SizeBytes)
		}
	}
}

// judgeAgain withdraws what was an anomaly by the bound of the engine only. What is
// healthy by now stays so, even if a later measurement reaches the bound of the engine.
func (s *Search) judgeAgain(sizeBytes float64) {
	for _, e := range s.history {
		if e.symptom != Throughput || !e.hasSize(sizeBytes) {
			continue
		}
		share := s.throughput(&e.result)
		e.signals[len(e.signals)-1] = -share
		if share < throughputLimit {
			continue
		}
		e.symptom = Healthy
		s.healthy.add(e.point)
		for d, at := range e.point {
			s.shown[d][at[0]].bad--
		}
		for _, a := range s.anomalies {
			if a.base == e && a.MFS != nil {
				s.revise(a, nil)
			}
		}
	}
}

func (e *experiment) hasSize(sizeBytes float64) bool {
	for _, dir := range e.result.Directions {
		if similarSize(dir.SizeBytes, sizeBytes) {
			return true
		}
	}
	return false
}
