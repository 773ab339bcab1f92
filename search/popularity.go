package search

import "math/rand/v2"

// Anomalies of one subsystem share conditions: what is known of them says which
// conditions others are likely to have.

// strangeShare is the weight, in anomalies, of conditions that no known anomaly has.
const strangeShare = 2

// popularity is what the known anomalies ask of each dimension.
type popularity struct {
	of [][]*MFS // by dimension: those to which it matters
}

// popularity of the conditions that are known by now.
func (s *Search) popularity() *popularity {
	k := &popularity{of: make([][]*MFS, len(s.space.dims))}
	add := func(f *MFS) {
		for d := range f.conds {
			if !f.conds[d].free {
				k.of[d] = append(k.of[d], f)
			}
		}
	}
	for _, f := range s.cfg.Known {
		add(f)
	}
	for _, a := range s.anomalies {
		if a.MFS != nil {
			add(a.MFS)
		}
	}
	return k
}

// mix gives each dimension of a point, by itself, a value that meets a condition of some
// known anomaly: the more have one on it, the more likely.
func (k *popularity) mix(p point, r *rand.Rand) {
	for d, list := range k.of {
		if i := r.IntN(len(list) + strangeShare); i < len(list) {
			p[d] = list[i].draw(d, r)
		}
	}
}
