package trees

import "slices"

// part is what a cause contributes to the stall of a link, in percent.
type part struct {
	cause causeID
	stall float64
}

// partList is a few parts, the largest first.
type partList struct {
	n  int // first, to lie beside the first part in memory
	at [maxParts]part
}

func (p *partList) list() []part { return p.at[:p.n] }

// add adds a part; of two with one cause it keeps the larger.
func (p *partList) add(x part) {
	for i := range p.list() {
		if y := &p.at[i]; y.cause == x.cause {
			if x.stall > y.stall {
				y.stall = x.stall
				p.sort()
			}
			return
		}
	}
	if p.n < maxParts {
		p.n++
	} else if p.at[maxParts-1].stall >= x.stall {
		return
	}
	p.at[p.n-1] = x
	p.sort()
}

// sort puts the largest part first.
func (p *partList) sort() {
	list := p.list()
	for i := 1; i < len(list); i++ { // few, and nearly sorted
		for j := i; j > 0 && before(list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// before orders parts by stall, ties by cause.
func before(a, b part) bool { return a.stall > b.stall || a.stall == b.stall && a.cause < b.cause }

// has reports whether a cause is among the parts.
func (p *partList) has(cause causeID) bool {
	return slices.ContainsFunc(p.list(), func(x part) bool { return x.cause == cause })
}

// unite sums the parts of one cause.
func (p *partList) unite() {
	n := 0
	for _, x := range p.list() {
		if k := slices.IndexFunc(p.at[:n], func(y part) bool { return y.cause == x.cause }); k >= 0 {
			p.at[k].stall += x.stall
			continue
		}
		p.at[n] = x
		n++
	}
	p.n = n
	p.sort()
}

// set replaces the parts; those of one cause are summed.
func (p *partList) set(parts ...part) {
	p.n = copy(p.at[:], parts)
	p.unite()
}
