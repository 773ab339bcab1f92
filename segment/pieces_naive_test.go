package segment

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// naivePiece is a piece under its name: its least link, or calmLinks.
type naivePiece struct {
	name, size, sum int
	borders         map[int]int // by name: length
	around          int         // levels beside it, by length of border
}

func (p naivePiece) mean() float64 { return float64(p.sum) * levelUnit / float64(max(1, p.size)) }

// naiveLabel tells the piece of each link. Links that it lacks do not exist.
type naiveLabel map[int]int

func (v *naiveView) pieces(label naiveLabel) map[int]*naivePiece {
	background := v.background
	out := map[int]*naivePiece{calmLinks: &background}
	for l, name := range label {
		if name == calmLinks {
			continue
		}
		p := out[name]
		if p == nil {
			p = &naivePiece{name: name, borders: map[int]int{}}
			out[name] = p
		}
		p.size++
		p.sum += v.level[l]
		for _, t := range v.touches[l] {
			other, known := label[t.link]
			if t.link == calmLinks {
				other, known = calmLinks, true
			}
			if known && other != name {
				p.borders[other] += t.length
			}
		}
	}
	for _, p := range out {
		for other, length := range p.borders {
			p.around += length * (out[other].sum / max(1, out[other].size))
		}
	}
	return out
}

// naiveCost is of the piece of the smaller number and another or the background.
type naiveCost func(a, b *naivePiece, length int) float64

// round is pieces.round: it changes label and says whether it did.
func (v *naiveView) round(label naiveLabel, cost naiveCost) bool {
	type offer struct {
		*naivePiece
		cost   float64
		length int
	}
	pieces := v.pieces(label)
	best := map[int]offer{}
	var joined [][2]int
	for name, a := range pieces {
		var offers []offer
		for other, length := range a.borders {
			first, second := a, pieces[other]
			if other != calmLinks && other < name {
				first, second = second, first
			}
			if c := cost(first, second, length); c == 0 {
				joined = append(joined, [2]int{name, other})
			} else if !math.IsInf(c, 1) {
				offers = append(offers, offer{pieces[other], c, length})
			}
		}
		slices.SortFunc(offers, func(x, y offer) int {
			return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(y.length, x.length), cmp.Compare(y.size, x.size),
				cmp.Compare(y.sum, x.sum), cmp.Compare(y.around, x.around), cmp.Compare(x.name, y.name))
		})
		if len(offers) > 0 {
			best[name] = offers[0]
		}
	}
	for name, b := range best {
		back, mutual := best[b.name]
		mutual = mutual && back.name == name
		if b.name == calmLinks || b.cost <= cheap || mutual || b.size >= dominant*pieces[name].size {
			joined = append(joined, [2]int{name, b.name})
		}
	}
	now := map[int]int{}
	for name := range pieces {
		now[name] = name
	}
	naiveUnite(now, joined)
	for l, name := range label {
		label[l] = now[name]
	}
	return len(joined) > 0
}

func naiveWorth(price float64) naiveCost {
	return func(a, b *naivePiece, length int) float64 {
		apart := a.mean() - b.mean()
		na, nb := float64(a.size), float64(b.size)
		rise, worth := apart*apart*(na*nb), float64(length)*borderUnit*(na+nb)
		if full := neck * (na * nb); worth < full {
			worth *= worth / full
		}
		if rise >= price*worth {
			return math.Inf(1)
		}
		return rise / worth
	}
}

func (v *naiveView) absorb(label naiveLabel, minLinks int) {
	for v.round(label, func(a, b *naivePiece, _ int) float64 {
		if min(a.size, b.size) >= minLinks {
			return math.Inf(1)
		}
		return math.Abs(a.mean() - b.mean())
	}) {
	}
}

func (v *naiveView) mergeAll() naiveLabel {
	label := naiveLabel{}
	for _, l := range v.hot {
		label[l] = l
	}
	for v.round(label, naiveWorth(borderPrice)) {
	}
	v.absorb(label, v.cfg.MinLinks)
	for v.round(label, naiveWorth(borderPrice)) {
	}
	return label
}

func (v *naiveView) ratio(a, b *naivePiece) float64 {
	x, y := v.stallOf(a.mean()), v.stallOf(b.mean())
	return max(x, y) / max(minBase, min(x, y))
}

// split is cores.split.
func (v *naiveView) split(label naiveLabel) naiveLabel {
	core := naiveLabel{}
	for l, name := range label {
		outside := slices.ContainsFunc(v.touches[l], func(t naiveTouch) bool { return t.link == calmLinks || label[t.link] != name })
		if name != calmLinks && !outside {
			core[l] = l
		}
	}
	inside := func(piece int) (n int) {
		for l := range core {
			if label[l] == piece {
				n++
			}
		}
		return n
	}
	isThick := func(p *naivePiece) bool { return float64(inside(p.name)) > thinShare*float64(p.size) }
	thin := naiveWorth(thinPrice)
	for v.round(label, func(a, b *naivePiece, length int) float64 {
		if b.name == calmLinks || isThick(a) || isThick(b) || v.ratio(a, b) >= thinRatio {
			return math.Inf(1)
		}
		return thin(a, b, length)
	}) {
	}
	v.mergeCores(core)
	return v.grow(label, core)
}

func (v *naiveView) mergeCores(core naiveLabel) {
	worth := naiveWorth(innerPrice)
	for v.round(core, worth) {
	}
	v.absorb(core, minCore)
	for v.round(core, func(a, b *naivePiece, length int) float64 {
		if ratio := v.ratio(a, b); ratio < coreRatio {
			return ratio - 1
		}
		return 1 + worth(a, b, length)
	}) {
	}
}

// grow makes a piece of each core where a piece has several. Links outside join,
// ring by ring.
func (v *naiveView) grow(label, core naiveLabel) naiveLabel {
	cores := map[int][]*naivePiece{} // by piece: those that count
	large := v.pieces(core)
	for name, c := range large {
		if name != calmLinks && c.size >= minCore {
			cores[label[name]] = append(cores[label[name]], c)
		}
	}
	grown, unknown := naiveLabel{}, []int(nil)
	coreName := func(core int) int { return len(v.values) + core } // not a piece's
	for _, l := range v.hot {
		c, inside := core[l]
		switch {
		case len(cores[label[l]]) < 2:
			grown[l] = label[l]
		case inside && large[c].size >= minCore:
			grown[l] = coreName(c)
		default:
			unknown = append(unknown, l)
		}
	}
	for {
		ring := naiveLabel{}
		for _, l := range unknown {
			votes, last := map[int]int{}, map[int]int{}
			for i, t := range v.touches[l] {
				if name, known := grown[t.link]; known && label[t.link] == label[l] {
					votes[name] += t.length
					last[name] = i
				}
			}
			if len(votes) > 0 {
				ring[l] = v.elect(l, votes, last, large)
			}
		}
		if len(ring) == 0 {
			break
		}
		maps.Copy(grown, ring)
		unknown = slices.DeleteFunc(unknown, func(l int) bool { _, known := ring[l]; return known })
	}
	for _, l := range unknown {
		grown[l] = label[l]
	}
	v.unite(label, grown, large)
	return grown.renamed()
}

// unite is cores.unite.
func (v *naiveView) unite(label, grown naiveLabel, cores map[int]*naivePiece) {
	now, size, contact := map[int]int{}, map[int]int{}, map[[2]int]int{}
	for l, name := range grown {
		now[name] = name
		size[name]++
		for _, t := range v.touches[l] {
			if other, known := grown[t.link]; known && label[t.link] == label[l] && len(v.values) <= name && name < other {
				contact[[2]int{name, other}] += t.length
			}
		}
	}
	var alike [][2]int
	for pair, length := range contact {
		a, b := cores[pair[0]-len(v.values)], cores[pair[1]-len(v.values)]
		perLink := float64(length) * borderUnit * (1/float64(size[pair[0]]) + 1/float64(size[pair[1]]))
		chance := coreErrors * math.Sqrt(1/float64(a.size)+1/float64(b.size))
		if perLink >= seam && math.Abs(a.mean()-b.mean()) < chance {
			alike = append(alike, pair)
		}
	}
	naiveUnite(now, alike)
	for l, name := range grown {
		grown[l] = now[name]
	}
}

// elect is the core of most votes, of equals the likest, of equals the one whose
// last vote came first.
func (v *naiveView) elect(l int, votes, last map[int]int, cores map[int]*naivePiece) int {
	apart := func(name int) float64 {
		return math.Abs(float64(v.level[l])*levelUnit - cores[name-len(v.values)].mean())
	}
	return slices.MinFunc(slices.Collect(maps.Keys(votes)), func(a, b int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(apart(a), apart(b)), cmp.Compare(last[a], last[b]))
	})
}

// renamed names each piece after its least link.
func (n naiveLabel) renamed() naiveLabel {
	least := map[int]int{calmLinks: calmLinks}
	out := naiveLabel{}
	for _, l := range slices.Sorted(maps.Keys(n)) {
		if _, named := least[n[l]]; !named {
			least[n[l]] = l
		}
		out[l] = least[n[l]]
	}
	return out
}
