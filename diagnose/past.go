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

// span is what links carried in some slots, by levels of which use has them.
type span struct {
	interval uint32
	slots    slots
	use      *levels
	round    uint32    // in which it was begun
	percent  []float64 // by link, as far as it is found
	found    []uint32  // by block of links, the round in which theirs are
}

func newPast(links int) past { return past{links: links} }

// turnTo sets the slots, of which use has the levels.
func (p *past) turnTo(interval uint32, of slots, use *levels) {
	if n := p.now; n != nil && n.interval == interval && n.slots == of {
		return
	}
	if p.round++; p.round == 0 {
		p.spans, p.round = nil, 1
	}
	for _, s := range p.spans {
		if p.now = s; s.interval == interval && s.slots == of {
			return
		}
	}
	if len(p.spans) < mostSpans {
		p.spans = append(p.spans, &span{percent: make([]float64, p.links), found: make([]uint32, p.links/blockLinks+1)})
	}
	p.now = slices.MinFunc(p.spans, func(a, b *span) int { return cmp.Compare(a.round, b.round) }) // that was begun first
	*p.now = span{interval, of, use, p.round, p.now.percent, p.now.found}
}

// of is the mean of a link over the slots; -1 if none was measured.
func (p *past) of(l schema.LinkID) float64 {
	s := p.now
	if s.found[l/blockLinks] != s.round {
		s.findBlock(int(l / blockLinks))
	}
	return s.percent[l]
}

// findBlock finds the means of some links together: where many are asked for that is less work than for each, and where few are
// there are few blocks.
func (s *span) findBlock(block int) {
	first := block * blockLinks
	s.found[block] = s.round
	s.use.means(s.slots.at[:s.slots.n], first, s.percent[first:min(first+blockLinks, len(s.percent))])
}
