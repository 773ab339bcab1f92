package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// RegionAt is a region of congestion in one interval; its links are numbers of the
// graph in force at that time.
type RegionAt struct {
	Begin, End schema.Instant // of the interval
	Region     schema.Region
}

// Crossing is a region that flows of a collective crossed while it existed, and what it
// cost the collective.
type Crossing struct {
	Region   uint64          `json:"region,string"`
	Name     string          `json:"name,omitempty"`
	Metric   schema.Metric   `json:"metric"`
	Severity schema.Severity `json:"severity"` // the highest in that time
	From     schema.Instant  `json:"from"`     // begin of the first interval in which flows crossed it
	To       schema.Instant  `json:"to"`       // end of the last

	// CostNanos is the makespan lost to what slowed the flows in this region. Regions
	// of one metric share a flow's loss by the likelihood that it crossed each; losses
	// are not added up over metrics.
	CostNanos         int64   `json:"cost_ns"`
	PerIterationNanos int64   `json:"per_iteration_ns"`
	Share             float64 `json:"share"` // highest share of a flow's equal paths that lead through it; 1: certain
	Flows             int     `json:"flows"` // of the collective that certainly or possibly cross it
	Worst             string  `json:"worst"` // the flow that lost most there, else any that crosses it: ranks, as from->to
}

// Crosser matches a report with regions by time and links.
type Crosser struct {
	r     *Report
	found map[uint64]*crossed
	ways  *ways
}

// crossed is a crossing with its flows.
type crossed struct {
	Crossing
	flows map[int]float64 // loss by way
	cost  float64
}

// NewCrosser returns a Crosser for a report, which must come from Reports or New.
func NewCrosser(r *Report) *Crosser { return &Crosser{r: r, found: map[uint64]*crossed{}} }

// Add matches the regions of one interval, whose links are of graph g.
func (c *Crosser) Add(g *topology.Graph, at ...RegionAt) error {
	if c.ways == nil || c.ways.g != g {
		var err error
		if c.ways, err = newWays(c.r, g); err != nil {
			return fmt.Errorf("collective report: %w", err)
		}
	}
	byMetric := map[schema.Metric][]*RegionAt{}
	for i := range at {
		if at[i].Region.ID != 0 && at[i].Begin < at[i].End {
			byMetric[at[i].Region.Metric] = append(byMetric[at[i].Region.Metric], &at[i])
		}
	}
	for _, regions := range byMetric {
		c.metric(regions)
	}
	return nil
}

// metric matches the regions of one metric in one interval.
func (c *Crosser) metric(regions []*RegionAt) {
	inside := map[schema.LinkID]int{}
	for i, r := range regions {
		for _, l := range r.Region.Links {
			inside[l] = i
		}
	}
	from, to := int64(regions[0].Begin-c.r.Begin), int64(regions[0].End-c.r.Begin)
	shares := make([]map[int]float64, len(c.r.Ways))
	for i := range c.r.Ways {
		if w := &c.r.Ways[i]; w.BeginNanos < to && w.EndNanos >= from {
			shares[i] = c.ways.through(i, inside)
			for region, share := range shares[i] {
				c.cross(regions[region], i, share, 0)
			}
		}
	}
	for _, l := range c.r.Losses {
		part := overlap(l.BeginNanos, l.EndNanos, from, to)
		if part <= 0 || !inNetwork(c.r.Diagnosis.Culprits[l.Culprit].Class) {
			continue
		}
		if region, ok := c.at(l.Culprit, inside); ok {
			c.cross(regions[region], l.Way, shares[l.Way][region], part*float64(l.Nanos))
			continue
		}
		sum := 0.0
		for _, share := range shares[l.Way] {
			sum += share
		}
		for region, share := range shares[l.Way] {
			c.cross(regions[region], l.Way, share, part*float64(l.Nanos)*share/sum)
		}
	}
}

// overlap is the share of [begin, end) within [from, to), 0 to 1.
func overlap(begin, end, from, to int64) float64 {
	if end <= begin {
		end = begin + 1
	}
	return float64(max(min(end, to)-max(begin, from), 0)) / float64(end-begin)
}

// inNetwork reports whether a culprit slows flows in the network, not a rank outside
// it.
func inNetwork(class collective.Class) bool {
	return class != collective.Straggler && class != collective.Hang
}

// at returns the region with the port at which a culprit was found, if the fabric's
// graph has that port under the same name.
func (c *Crosser) at(culprit int, inside map[schema.LinkID]int) (region int, ok bool) {
	for _, at := range c.r.Diagnosis.Culprits[culprit].Ports() {
		if p, found := c.ways.g.FindPort(at.Switch, at.Port); found {
			if region, ok = inside[p.Egress]; ok {
				return region, true
			}
		}
	}
	return 0, false
}

// cross adds a flow and its loss to a region.
func (c *Crosser) cross(at *RegionAt, way int, share, cost float64) {
	x := c.found[at.Region.ID]
	if x == nil {
		x = &crossed{Crossing: Crossing{Region: at.Region.ID, Name: at.Region.Name, Metric: at.Region.Metric, From: at.Begin, To: at.End}, flows: map[int]float64{}}
		c.found[at.Region.ID] = x
	}
	x.From, x.To = min(x.From, at.Begin), max(x.To, at.End)
	if at.Region.Severity >= x.Severity {
		x.Severity, x.Name = at.Region.Severity, at.Region.Name
	}
	x.Share = max(x.Share, share)
	x.flows[way] += cost
	x.cost += cost
}

// Crossings returns the crossed regions, most costly first.
func (c *Crosser) Crossings() []Crossing {
	out := []Crossing{}
	for _, x := range c.found {
		x.CostNanos = int64(x.cost + 0.5)
		x.PerIterationNanos = x.CostNanos / int64(max(c.r.Iterations, 1))
		x.Flows = len(x.flows)
		worst := -1
		for way, cost := range x.flows {
			if worst < 0 || cost > x.flows[worst] || cost == x.flows[worst] && way < worst {
				worst = way
			}
		}
		x.Worst = fmt.Sprintf("%d->%d", c.r.Ways[worst].From, c.r.Ways[worst].To)
		out = append(out, x.Crossing)
	}
	slices.SortFunc(out, func(a, b Crossing) int {
		return cmp.Or(cmp.Compare(b.CostNanos, a.CostNanos), cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Region, b.Region))
	})
	return out
}

// Sentence describes what a region cost a job: "region 5 cost job 17 31 ms per iteration".
func (x *Crossing) Sentence(job string) string {
	if x.CostNanos == 0 {
		return fmt.Sprintf("flows of job %s crossed region %d, which cost it nothing", job, x.Region)
	}
	return fmt.Sprintf("region %d cost job %s %.3g ms per iteration", x.Region, job, float64(x.PerIterationNanos)/1e6)
}
