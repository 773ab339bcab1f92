package search

// An engine may not know the limit of its hosts for small packets, which is set by the CPU
// that posts them. If many measurements have packets of about one size, in otherwise varied
// workloads, and none comes near either bound, then the size is slow and this is not an
// anomaly: the best of them becomes the bound for packets of that size.

const (
	calibrating = 20  // measurements of a size: probes of one anomaly rarely give so many in a row
	sameSize    = 1.1 // factor within which packet sizes count as equal
	// nearBound is the share of a bound that must be reached to confirm the bound. It
	// is above throughputLimit because healthy workloads lose some throughput too: if
	// the best reaches 85%, they may be below 80%.
	nearBound = .88
)

// sizeRates are the measured packet rates, one per direction.
type sizeRates []sizeRate

type sizeRate struct {
	sizeBytes, mpps float64
	slow            bool // not near either bound
}

// add adds a measurement in which no host paused.
func (r *sizeRates) add(d *Description, m *Measurement) {
	for _, dir := range m.Directions {
		*r = append(*r, sizeRate{dir.SizeBytes, dir.Mpps, d.share(dir, d.packetRate(dir.SizeBytes)) < nearBound})
	}
}

// reachable is the packet rate that hosts reach with packets of a size; 0: not known to
// be below the bound.
func (r sizeRates) reachable(sizeBytes float64) float64 {
	if !(sizeBytes > 0) { // not given by the engine
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
