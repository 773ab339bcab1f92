package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// past is what links carried in some slots, percent of their capacity: found once for the regions of an interval that
// began together.
type past struct {
	round uint32 // it changes with the interval or the slots
	links int
	spans []*span // the last that were asked for, in no order
	now   *span
}

// mostSpans bounds the spans of slots that are kept, as regions that began at different times alternate.
const mostSpans = 4

// span is what links carried in slots from one to before another, by levels of which use has them.
type span struct {
	interval uint32
	from, to int64
	use      *levels
	round    uint32 // in which it was begun
	found    []carried
}

// carried is what a link carried, percent, found in a round.
type carried struct {
	round   uint32
	percent float64
}

func newPast(links int) past { return past{links: links} }

// turnTo sets the slots, from one to before another, of which use has the levels.
func (p *past) turnTo(interval uint32, from, to int64, use *levels) {
	if n := p.now; n != nil && n.interval == interval && n.from == from && n.to == to {
		return
	}
	if p.round++; p.round == 0 {
		p.spans, p.round = nil, 1
	}
	for _, s := range p.spans {
		if p.now = s; s.interval == interval && s.from == from && s.to == to {
			return
		}
	}
	if len(p.spans) < mostSpans {
		p.spans = append(p.spans, &span{found: make([]carried, p.links)})
	}
	p.now = slices.MinFunc(p.spans, func(a, b *span) int { return cmp.Compare(a.round, b.round) }) // that was begun first
	*p.now = span{interval, from, to, use, p.round, p.now.found}
}

// of is the mean of a link over the slots; -1 if none was measured.
func (p *past) of(l schema.LinkID) float64 {
	s := p.now
	c := &s.found[l]
	if c.round != s.round {
		*c = carried{s.round, s.use.over(s.from, s.to-1, l)}
	}
	return c.percent
}
