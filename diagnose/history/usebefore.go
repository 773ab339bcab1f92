package history

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// past caches the links' mean load in some slots, percent of capacity, for the regions of an interval that began
// together.
type past struct {
	last  uint32 // number of the span begun last
	links int
	spans []*span // the last ones, unordered
}

// mostSpans bounds the spans kept, as regions that began at different times alternate.
const mostSpans = 4

// span is the links' mean load in some slots of use.
type span struct {
	interval uint32
	slots    Slots
	use      *levels
	number   uint32    // another interval or other slots have another
	percent  []float64 // by link, as far as computed
	found    []uint32  // by block of links, the number of the span when it was computed
}

func newPast(links int) past { return past{links: links} }

// span returns the span of the slots, whose levels use has. It may replace the oldest of mostSpans others.
func (p *past) span(interval uint32, of Slots, use *levels) *span {
	for _, s := range p.spans {
		if s.interval == interval && s.slots == of {
			return s
		}
	}
	if p.last++; p.last == 0 {
		p.spans, p.last = nil, 1
	}
	if len(p.spans) < mostSpans {
		p.spans = append(p.spans, &span{percent: make([]float64, p.links), found: make([]uint32, p.links/blockLinks+1)})
	}
	oldest := slices.MinFunc(p.spans, func(a, b *span) int { return cmp.Compare(a.number, b.number) })
	*oldest = span{interval, of, use, p.last, oldest.percent, oldest.found}
	return oldest
}

// of is the mean load of a link over the slots; -1 if it was never measured.
func (s *span) of(l schema.LinkID) float64 {
	if s.found[l/blockLinks] != s.number {
		s.findBlock(int(l / blockLinks))
	}
	return s.percent[l]
}

// findBlock computes the means of a block of links: cheaper than one by one if many links are asked for; if few are,
// there are few blocks.
func (s *span) findBlock(block int) {
	first := block * blockLinks
	s.found[block] = s.number
	s.use.means(s.slots.At[:s.slots.N], first, s.percent[first:min(first+blockLinks, len(s.percent))])
}

// MeanUse returns a function for the mean load of a link over some slots, percent of its capacity; -1 if it was never
// measured. It is valid for the interval. The same slots in the same interval have the same number, so that what is
// computed from their means can be kept by it.
func (h *History) MeanUse(of Slots) (mean func(schema.LinkID) float64, number uint32) {
	use := h.memory.metrics[schema.BandwidthUsed]
	if use == nil {
		of = Slots{}
	}
	s, interval := h.past.span(h.interval, of, use), h.interval
	number = s.number
	round := number
	return func(l schema.LinkID) float64 {
		if s.number != round { // other slots have its memory now
			s = h.past.span(interval, of, use)
			round = s.number
		}
		return s.of(l)
	}, number
}

// Slots holds up to MostSlots slots, latest first.
type Slots struct {
	At [MostSlots]int64
	N  int
}

// MostSlots bounds the slots with which the present is compared.
const MostSlots = 12

// averages caches means of readings over the last intervals, by metric and first slot.
type averages struct {
	interval uint32 // in which they were computed
	used     int
	all      []*meanSeries
}

// meanSeries is the mean of a metric from a slot to the interval of the averages.
type meanSeries struct {
	metric schema.Metric
	from   int64
	series schema.Series
}

// Average returns the mean of a metric from a slot to now, over the intervals in which a link was measured.
func (h *History) Average(metric schema.Metric, from int64) *schema.Series {
	w := &h.averages
	if w.interval != h.interval {
		w.interval, w.used = h.interval, 0
	}
	for _, a := range w.all[:w.used] {
		if a.metric == metric && a.from == from {
			return &a.series
		}
	}
	if w.used == len(w.all) {
		n := h.graph.NumLinks()
		series := schema.Series{Values: make([]float32, n), Valid: schema.NewBitmap(n)}
		w.all = append(w.all, &meanSeries{series: series})
	}
	a := w.all[w.used]
	w.used++
	a.metric, a.from, a.series.Metric = metric, from, metric
	h.memory.metrics[metric].average(from, h.Clock.Now, &a.series)
	return &a.series
}
