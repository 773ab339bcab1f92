package root

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostReaches is the share of a region's stall that must lead to a link for the region to wait for it.
const mostReaches = .5

// backward is the scratch memory for following traffic back from a switch of a grid.
type backward struct {
	met   scratch.Marks[schema.LinkID] // followed
	queue []arrival                    // still to be followed
}

// arrival is a link to be followed back, and the switch where its traffic arrives.
type arrival struct {
	link schema.LinkID
	at   topology.DeviceID
}

func newBackward(links int) backward { return backward{met: scratch.NewMarks[schema.LinkID](links)} }

// reaches is the share of a region's stall that dimension-order routing can lead, over stalled links, to link out,
// which leaves switch via. Stall has no direction: at the end where its traffic begins, links that carry less because
// their sources are held up look like what it waits for, but only the branch that begins there leads to them.
func (w *gridWalk) reaches(links []schema.LinkID, out schema.LinkID, via topology.DeviceID) float64 {
	u, all, sum := &w.back, 0., 0.
	for _, l := range links {
		all += w.StallOf(l)
	}
	if all == 0 {
		return 0
	}
	u.met.Clear()
	u.met.Add(out)
	u.queue = append(u.queue[:0], arrival{out, via})
	for len(u.queue) > 0 {
		next := u.queue[len(u.queue)-1]
		u.queue = u.queue[:len(u.queue)-1]
		dim := w.grid.Dim(next.link)
		for _, l := range w.graph.LinksAt(next.at) {
			if _, s := w.shows(l); u.met.Has(l) || s.dim < 0 || s.dim > dim || s.stall < stalledPercent {
				continue
			}
			u.met.Add(l)
			sum += w.StallOf(l)
			u.queue = append(u.queue, arrival{l, w.graph.OtherEnd(l, next.at)})
		}
	}
	return min(1, sum/all)
}
