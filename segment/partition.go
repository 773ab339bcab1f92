package segment

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// partition is a list of groups of links in flat memory. Groups may overlap.
type partition struct {
	links []schema.LinkID // ascending within a group
	ends  []int32         // by group: where it ends in links
}

func (p *partition) reset() { p.links, p.ends = p.links[:0], p.ends[:0] }

func (p *partition) len() int { return len(p.ends) }

func (p *partition) group(i int) []schema.LinkID {
	begin := int32(0)
	if i > 0 {
		begin = p.ends[i-1]
	}
	return p.links[begin:p.ends[i]:p.ends[i]]
}

// fromLabels appends a group per label. labels gives each link's label, or -1
// for none; count is scratch, zero, one per label.
func (p *partition) fromLabels(labels, count []int32) {
	for _, l := range labels {
		if l >= 0 {
			count[l]++
		}
	}
	at := int32(len(p.links))
	for l, n := range count {
		if n > 0 {
			count[l] = at
			at += n
			p.ends = append(p.ends, at)
		}
	}
	p.links = slices.Grow(p.links, int(at)-len(p.links))[:at]
	for i, l := range labels {
		if l >= 0 {
			p.links[count[l]] = schema.LinkID(i)
			count[l]++
		}
	}
}
