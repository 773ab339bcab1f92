package collective

import "slices"

// wireFactor is wire bytes per payload byte: packets of 1,300 bytes plus 48 bytes of
// headers, as in the simulation.
const wireFactor = 1348.0 / 1300

// Where the collective's flows send in both directions, acknowledgements share the
// links with the data: 60 bytes per packet. ackFactor is the default where no step of
// the run shows how long a healthy one takes.
const (
	ackFactor     = 1 + 60.0/1348
	maxAloneRatio = 1.12
)

// sizeKey groups steps that take equally long when nothing is wrong.
type sizeKey struct {
	bytes, alone, rate int64
	local              bool // both ranks on one node
}

// baseline is how long steps take on a healthy fabric.
type baseline struct {
	t      *table
	tr     *traffic
	factor float64           // measured over nominal duration of healthy steps
	group  map[sizeKey]int64 // healthy duration by group
	last   sizeKey           // key of the last lookup; value is its result
	value  int64
}

// newBaseline measures the healthy steps: the lower quartile of measured duration over
// the duration alone at the nominal rate. Where neither the fabric nor the records give
// the latter, it takes the lower quartile of the durations of steps of the same size.
func newBaseline(t *table, tr *traffic, channels int) *baseline {
	b := &baseline{t: t, tr: tr, factor: 1, group: map[sizeKey]int64{}}
	stride := len(t.steps)/65536 + 1
	var ratios []float64
	bySize := map[sizeKey][]int64{}
	for i := 0; i < len(t.steps); i += stride {
		duration := t.end[i] - t.begin[i]
		key := b.keyOf(i)
		if alone := aloneNanos(key); alone > 0 {
			ratios = append(ratios, float64(duration)/float64(alone))
		} else {
			bySize[key] = append(bySize[key], duration)
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		b.factor = max(ratios[len(ratios)/4], 0.9)
		if b.factor > maxAloneRatio*float64(max(channels, 1)) {
			b.factor = ackFactor
		}
	}
	for key, durations := range bySize {
		slices.Sort(durations)
		b.group[key] = durations[len(durations)/4]
	}
	return b
}

// keyOf returns the group of step i. A recorded AloneNanos assumes the actual link
// rates of the path; where these are below nominal, the nominal rate counts.
func (b *baseline) keyOf(i int) sizeKey {
	r := &b.t.steps[i]
	key := sizeKey{bytes: r.Bytes, alone: r.AloneNanos}
	if r.Peer < 0 {
		return key
	}
	from, to := &b.t.run.Ranks[r.Rank], &b.t.run.Ranks[r.Peer]
	key.local = b.t.node[r.Rank] == b.t.node[r.Peer]
	if len(b.tr.own) > 0 && !key.local {
		key.rate = b.tr.net.Between(from.Host, to.Host)
	}
	return key
}

// aloneNanos is how long a step takes on an idle fabric at its nominal rate; 0 if
// unknown.
func aloneNanos(key sizeKey) int64 {
	byRate := int64(0)
	if key.rate > 0 {
		byRate = int64(float64(key.bytes) * 8 * wireFactor / float64(key.rate) * 1e9)
	}
	switch {
	case key.alone == 0:
		return byRate
	case byRate > 0 && key.alone > byRate+byRate/4+100_000:
		return byRate // the record's is for a slow link
	}
	return key.alone
}

// of returns how long step i takes when nothing is wrong.
func (b *baseline) of(i int) int64 {
	key := b.keyOf(i)
	if key == b.last && b.value > 0 {
		return b.value
	}
	b.last = key
	if alone := aloneNanos(key); alone > 0 {
		b.value = int64(b.factor * float64(alone))
	} else {
		b.value = b.group[key]
	}
	return b.value
}

// excess returns how much longer than that step i took; 0 where the difference is
// small.
func (b *baseline) excess(i int) int64 {
	healthy := b.of(i)
	if over := b.t.end[i] - b.t.begin[i] - healthy; over > small(healthy) {
		return over
	}
	return 0
}

// small is the largest excess that is ignored.
func small(healthy int64) int64 { return healthy/50 + 5_000 }
