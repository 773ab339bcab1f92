package diagnose

import "github.com/giverny/giverny/schema"

// past is what links carried in some slots, percent of their capacity: found once for the regions of an interval that
// began together.
type past struct {
	interval uint32
	from, to int64
	use      *levels
	round    uint32   // it changes with the interval or the slots
	found    []uint32 // by link: the round in which percent was found
	percent  []float64
}

func newPast(links int) past {
	return past{found: make([]uint32, links), percent: make([]float64, links)}
}

// turnTo sets the slots, from one to before another, of which use has the levels.
func (p *past) turnTo(interval uint32, from, to int64, use *levels) {
	if p.round > 0 && p.interval == interval && p.from == from && p.to == to {
		return
	}
	if p.round++; p.round == 0 {
		clear(p.found)
		p.round = 1
	}
	p.interval, p.from, p.to, p.use = interval, from, to, use
}

// of is the mean of a link over the slots; -1 if none was measured.
func (p *past) of(l schema.LinkID) float64 {
	if p.found[l] != p.round {
		p.found[l], p.percent[l] = p.round, p.use.over(p.from, p.to-1, l)
	}
	return p.percent[l]
}
