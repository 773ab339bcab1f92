package segment

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// lastStall is the stall of a region's link when it was last measured, in percent of time.
type lastStall struct {
	link    schema.LinkID
	percent float64
}

// carriedStall is the last stall of a link that is not measured now, and the region, an index, that it counts for.
type carriedStall struct {
	region int
	lastStall
}

// stallOf is a link's stall, as clean has it.
func stallOf(series *schema.Series, l schema.LinkID) (percent float64, measured bool) {
	v := series.Values[l]
	if !series.Valid.Has(int(l)) || v-v != 0 { // NaN or infinite
		return 0, false
	}
	return float64(min(max(v, 0), 100)), true
}

// carry finds the links of the last interval's regions that are not measured now, with the regions that continue those.
func (m *Memory) carry(snap *schema.Snapshot, regions []schema.Region) {
	m.carried = m.carried[:0]
	for i := range m.past {
		p := &m.past[i]
		series := snap.Find(p.metric)
		if series == nil {
			continue
		}
		heir := -1
		for _, s := range p.last {
			if _, measured := stallOf(series, s.link); measured {
				continue
			}
			if heir < 0 {
				if heir = heirOf(p, regions); heir < 0 {
					break
				}
			}
			m.carried = append(m.carried, carriedStall{heir, s})
		}
	}
	slices.SortFunc(m.carried, func(a, b carriedStall) int {
		return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.link, b.link), cmp.Compare(a.percent, b.percent))
	})
	m.carried = slices.CompactFunc(m.carried, func(a, b carriedStall) bool { return a.region == b.region && a.link == b.link })
}

// heirOf is the index of the region that has most links of one of the last interval; -1: none has any.
func heirOf(p *remembered, regions []schema.Region) int {
	heir, most := -1, 0
	for r := range regions {
		if regions[r].Metric != p.metric {
			continue
		}
		n := 0
		for _, l := range regions[r].Links {
			if _, has := slices.BinarySearch(p.links, l); has {
				n++
			}
		}
		if n > most {
			heir, most = r, n
		}
	}
	return heir
}

// hold keeps the severity of regions from rising because links of them are no longer measured: if it would, their mean
// counts those at their last stall. docs/decisions/2026-11-29-severity-in-silence.md says why.
func (m *Memory) hold(snap *schema.Snapshot, regions []schema.Region) {
	for i := 0; i < len(m.carried); {
		r, sum, n := &regions[m.carried[i].region], 0., 0
		for first := i; i < len(m.carried) && m.carried[i].region == m.carried[first].region; i++ {
			sum, n = sum+m.carried[i].percent, n+1
		}
		series := snap.Find(r.Metric)
		for _, l := range r.Links {
			if v, measured := stallOf(series, l); measured {
				sum, n = sum+v, n+1
			}
		}
		if mean := sum / float64(n); schema.SeverityOf(mean) < r.Severity {
			r.Mean, r.Severity = mean, schema.SeverityOf(mean)
		}
	}
}

// lastOf appends the last stalls of a region: of its links that are measured, and of those that count for it.
func (m *Memory) lastOf(to []lastStall, snap *schema.Snapshot, regions []schema.Region, region int) []lastStall {
	if series := snap.Find(regions[region].Metric); series != nil {
		for _, l := range regions[region].Links {
			if v, measured := stallOf(series, l); measured {
				to = append(to, lastStall{l, v})
			}
		}
	}
	for _, c := range m.carried {
		if c.region == region {
			to = append(to, c.lastStall)
		}
	}
	return to
}
