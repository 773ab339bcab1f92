package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Regions of a grid that begin together on the ground of one job are that job's new phase: all of its hosts take less,
// or pass on other traffic than before, because the job sends otherwise. One slow host or failure holds up one region,
// or a large one and its fragments. So none may have more than togetherLargest of their links, and they must reach
// togetherNodes of the job's nodes.
const togetherLargest, togetherNodes = .25, .5

// onsetOn is when regions began, a slot, and the only job on whose ground they lie.
type onsetOn struct {
	job   *job
	began int64
}

// begunTogether is the size of the regions with the same onset on a job's ground: links in all, and of the largest, and
// nodes of the job.
type begunTogether struct{ links, largest, nodes int }

// findTogether sets the job of regions of a grid that began together.
func (in *interval) findTogether(cases []regionCase) {
	if !in.graph.Duplex() || in.router.Grid == nil || float64(len(cases))*togetherLargest < 1 {
		return
	}
	sets := map[onsetOn]begunTogether{}
	for i := range cases {
		if rc := &cases[i]; rc.timeline.hasOnset() && rc.region.Metric == schema.CreditStall {
			if rc.together = rc.soleJob(); rc.together != nil {
				on := onsetOn{rc.together, rc.timeline.began()}
				set, n := sets[on], len(rc.region.Links)
				sets[on] = begunTogether{set.links + n, max(set.largest, n), set.nodes + rc.nodesOf(rc.together)}
			}
		}
	}
	for i := range cases {
		if rc := &cases[i]; rc.together != nil {
			set := sets[onsetOn{rc.together, rc.timeline.began()}]
			if float64(set.largest) > togetherLargest*float64(set.links) ||
				float64(set.nodes) < togetherNodes*float64(len(rc.together.Devices)) {
				rc.together = nil
			}
		}
	}
}

// isPhaseOf reports whether regions began with this one all over the ground of a suspect that exchanges.
func (rc *regionCase) isPhaseOf(c *suspect) bool {
	return rc.together != nil && c.job == rc.together && !c.file
}

// soleJob is the only job with nodes at a region's links; nil: there are several, or none.
func (rc *regionCase) soleJob() (sole *job) {
	for _, l := range rc.region.Links {
		from, to := rc.in.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			for _, j := range rc.in.tenants[d] {
				if sole == nil {
					sole = j
				}
				if j.ID != sole.ID {
					return nil
				}
			}
		}
	}
	return sole
}

// nodesOf is how many nodes of a job the links of a region lead to.
func (rc *regionCase) nodesOf(j *job) (nodes int) {
	seen := map[topology.DeviceID]bool{}
	for _, l := range rc.region.Links {
		from, to := rc.in.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if !seen[d] && j.Has(d) {
				nodes++
			}
			seen[d] = true
		}
	}
	return nodes
}
