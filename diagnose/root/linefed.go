package root

import "github.com/giverny/giverny/schema"

// unfed sums up the stall of the links of a line, share of time, that nothing before them explains if back pressure ends
// at its first switch: what a link does not take fills the buffers of those that lead to it, which share what it takes,
// so that the highest of their stalls is no lower. What nodes at the line send waits at the nodes, which links do not
// show.
func (g *regionReadings) unfed(line []stop) (off float64) {
	half := len(line) / 2
	for _, step := range [2]int{1, -1} {
		for n := half; n > 0; n-- {
			on := linkOn(line, n-1, step)
			if on.link == schema.NoLink || on.stall < stalledPercent {
				continue
			}
			most := g.mostBeside(switchOn(line, n, step).device)
			if before := linkOn(line, n, step); n < half && before.link != schema.NoLink {
				most = max(most, before.stall)
			}
			off += max(0, on.stall-most) / 100 * shareAt(line, n)
		}
	}
	return off
}
