package search

import "math/rand/v2"

// Anomalies of one subsystem share conditions, so known ones show which conditions
// others are likely to have.

// strangeShare is the weight, in anomalies, of conditions that no known anomaly has.
const strangeShare = 2

// popularity collects the known anomalies' conditions by dimension.
type popularity struct {
	of [][]*MFS // by dimension: the MFS to which it matters
}

// popularity returns the conditions known so far.
func (s *findings) popularity() *popularity {
	k := &popularity{of: make([][]*MFS, len(s.space.dims))}
	add := func(f *MFS) {
		for d := range f.conds {
			if !f.conds[d].free {
				k.of[d] = append(k.of[d], f)
			}
		}
	}
	for _, f := range s.known {
		add(f)
	}
	for _, a := range s.anomalies {
		if a.MFS != nil {
			add(a.MFS)
		}
	}
	return k
}

// mix gives each dimension of a point, independently, a value that meets a condition of
// a known anomaly, with a probability that grows with the number of such anomalies.
func (k *popularity) mix(p point, r *rand.Rand) {
	for d, list := range k.of {
		if i := r.IntN(len(list) + strangeShare); i < len(list) {
			p[d] = list[i].draw(d, r)
		}
	}
}
