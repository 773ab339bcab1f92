package segment

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
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
	for i := 0; i < len(m.past); {
		metric := m.past[i].metric
		series := snap.Find(metric)
		m.own(regions, metric, true)
		for ; i < len(m.past) && m.past[i].metric == metric; i++ {
			if series != nil {
				m.carryOf(&m.past[i], series, len(regions))
			}
		}
		m.own(regions, metric, false)
	}
	slices.SortFunc(m.carried, func(a, b carriedStall) int {
		return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.link, b.link), cmp.Compare(a.percent, b.percent))
	})
	m.carried = slices.CompactFunc(m.carried, func(a, b carriedStall) bool { return a.region == b.region && a.link == b.link })
}

// own notes, or forgets, which region of a metric has a link.
func (m *Memory) own(regions []schema.Region, metric schema.Metric, has bool) {
	for r := range regions {
		if regions[r].Metric != metric {
			continue
		}
		for _, l := range regions[r].Links {
			if m.owner[l] = 0; has {
				m.owner[l] = int32(r + 1)
			}
		}
	}
}

// carryOf adds the links of one region of the last interval.
func (m *Memory) carryOf(p *remembered, series *schema.Series, regions int) {
	successor := -1
	for _, s := range p.last {
		if _, measured := stallOf(series, s.link); measured {
			continue
		}
		if successor < 0 {
			if successor = m.successorOf(p, regions); successor < 0 {
				return
			}
		}
		m.carried = append(m.carried, carriedStall{successor, s})
	}
}

// successorOf is the index of the region that has most links of one of the last interval; -1: none has any.
func (m *Memory) successorOf(p *remembered, regions int) int {
	m.votes = scratch.Slice(m.votes, regions)
	clear(m.votes)
	successor, most := -1, int32(0)
	for _, l := range p.links {
		if r := int(m.owner[l]) - 1; r >= 0 {
			if m.votes[r]++; m.votes[r] > most {
				successor, most = r, m.votes[r]
			}
		}
	}
	return successor
}

// hold counts the links of regions that are no longer measured, and keeps severity from rising because of them: if it would,
// the mean counts those at their last stall. docs/decisions/2026-11-29-severity-in-silence.md says why.
func (m *Memory) hold(snap *schema.Snapshot, regions []schema.Region) {
	for i := 0; i < len(m.carried); {
		r, sum, n := &regions[m.carried[i].region], 0., 0
		for first := i; i < len(m.carried) && m.carried[i].region == m.carried[first].region; i++ {
			sum, n = sum+m.carried[i].percent, n+1
		}
		r.Unread = n
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
