package diagnose

import "github.com/giverny/giverny/topology"

// A region's share of switches without a listed job that exceeds that of the whole grid by usualEmpty is evidence of a
// job that no table lists, jobEmpty a share, against exchanges of listed jobs: those congest the ground between their
// own nodes. Exchanges that were right to accuse had shares of up to .1 more.
const usualEmpty = .05

// findEmpty sets by how much a region of a grid lies more on switches without a listed job than the grid has such
// switches.
func (g grid) findEmpty() {
	if g.emptyExcess = 0; g.in.router.Grid == nil {
		return
	}
	empty, all := 0, 1
	for _, l := range g.region.Links {
		from, to := g.in.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if len(g.in.tenants[d]) == 0 {
				empty++
			}
		}
	}
	for _, n := range g.in.router.Grid.Dims() {
		all *= n
	}
	g.emptyExcess = float64(empty)/float64(2*len(g.region.Links)) - 1 + float64(g.in.occupied)/float64(all)
}

// emptyGroundPenalty is the penalty of a suspect's exchange for a region that lies where no listed job is. Files lie
// there as well.
func (g grid) emptyGroundPenalty(c *suspect) float64 {
	if c.file || !c.known {
		return 0
	}
	return jobEmpty * max(0, g.emptyExcess-usualEmpty)
}
