package diagnose

import "github.com/giverny/giverny/topology"

// A region's share of switches without a listed job that exceeds that of the whole grid by usualEmpty is evidence of a job that no table
// lists, jobEmpty a share, against exchanges of listed jobs: those congest the ground between their own nodes. Exchanges that were right
// to accuse had shares of up to .1 more.
const (
	usualEmpty = .05
	jobEmpty   = 15.
)

// findEmpty sets by how much a region of a grid lies more on switches without a listed job than the grid has such switches.
func (rc *regionCase) findEmpty() {
	if rc.emptyExcess = 0; rc.in.router.Grid == nil || !rc.in.graph.Duplex() {
		return
	}
	empty, all := 0, 1
	for _, l := range rc.region.Links {
		from, to := rc.in.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if len(rc.in.tenants[d]) == 0 {
				empty++
			}
		}
	}
	for _, n := range rc.in.router.Grid.Dims() {
		all *= n
	}
	rc.emptyExcess = float64(empty)/float64(2*len(rc.region.Links)) - 1 + float64(rc.in.occupied)/float64(all)
}

// emptyGroundPenalty is the penalty of a suspect's exchange for a region that lies where no listed job is. Files lie there as well.
func (s scores) emptyGroundPenalty(c *suspect) float64 {
	if c.file || !c.known {
		return 0
	}
	return jobEmpty * max(0, s.emptyExcess-usualEmpty)
}
