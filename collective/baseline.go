package collective

import "slices"

// wireFactor is wire bytes per byte of payload: packets of 1,300 bytes with 48 bytes
// of headers, the simulation's.
const wireFactor = 1348.0 / 1300

// Where the collective's flows send both ways, acknowledgements share the links with
// the data: 60 bytes for each packet. It is the factor that is taken where no step of
// the run shows how long a healthy one lasts.
const (
	ackFactor     = 1 + 60.0/1348
	maxAloneRatio = 1.12
)

// sizeKey is what steps have in common that last equally long when nothing is wrong.
type sizeKey struct {
	bytes, alone, rate int64
	local              bool // both ranks on one node
}

// baseline is how long steps last on a healthy fabric.
type baseline struct {
	t      *table
	tr     *traffic
	factor float64           // measured over nominal, of healthy steps
	group  map[sizeKey]int64 // by what steps have in common
	last   sizeKey           // what was asked for last, and the answer
	value  int64
}

// newBaseline measures the healthy steps: what they last over what they would last
// alone at the nominal rate, at the lower quartile of all. Where neither the fabric
// nor the records say what alone would be, it is the lower quartile of the steps of
// the same size itself.
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

// keyOf says what step i has in common with others. The time alone that a record
// gives is for the rates that its path really has; where these are below nominal, the
// nominal rate counts.
func (b *baseline) keyOf(i int) sizeKey {
	r := &b.t.steps[i]
	key := sizeKey{bytes: r.Bytes, alone: r.AloneNanos}
	if r.Peer < 0 {
		return key
	}
	from, to := &b.t.run.Ranks[r.Rank], &b.t.run.Ranks[r.Peer]
	key.local = b.t.node[r.Rank] == b.t.node[r.Peer]
	if len(b.tr.own) > 0 && !key.local {
		key.rate = b.tr.net.between(from.Host, to.Host)
	}
	return key
}

// aloneNanos is how long a step lasts on an idle fabric at its nominal rate; 0 where
// nothing says so.
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

// of is how long step i lasts when nothing is wrong.
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

// excess is what step i lasted beyond that; 0 where the difference is small.
func (b *baseline) excess(i int) int64 {
	healthy := b.of(i)
	if over := b.t.end[i] - b.t.begin[i] - healthy; over > small(healthy) {
		return over
	}
	return 0
}

// small is the excess that is no excess.
func small(healthy int64) int64 { return healthy/50 + 5_000 }
