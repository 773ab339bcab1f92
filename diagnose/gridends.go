package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ends are where the traffic of a region of a grid converges, and where it ends.
type ends struct {
	drain    root.Drain
	sender   *job // its nodes send what converges on the drain; nil: unknown
	neck     root.Neck
	fullLink schema.LinkID // on a grid, the full link that most traffic waits for; NoLink: unknown
	endings  root.Endings  // on a grid
	arrives  ratio         // load of the links where its traffic ends, relative to the baseline
	flooded  bool          // on a grid, load was added where the region's traffic ends, even if the mean load fell
	// on a grid, 0 to 1: how far the node where its traffic ends gets less than its share of its job's exchange
	starved float64
}

// endsBy finds them by the readings, p, and their mean, q. The senders are the likeliest, of jobs in this order.
func (g grid) endsBy(p, q *root.Pressure, senders []root.Sender, jobs []*job) (e ends) {
	isSteady, from := !g.load.atLeast(root.SteadyLoad), -1
	g.onGrid = g.in.finder.Region(q, g.region.Links)
	if e.drain, from = g.onGrid.Drain(senders); from >= 0 {
		e.sender = jobs[from]
	}
	e.neck = g.onGrid.Neck(p, senders, &e.drain, isSteady)
	e.fullLink = g.onGrid.FullLink(&e.neck, &e.drain)
	e.endings = g.onGrid.Endings(&e.drain)
	if e.arrives, e.flooded = g.arriving(&e, q); isSteady && e.endsAtSlowLink() {
		e.neck = e.endings.Neck()
	}
	e.starved = g.shortfall(&e, q)
	return e
}

// arriving is the load of the links of the switch where a region's traffic ends, relative to the baseline, and whether
// load was added there.
func (g grid) arriving(e *ends, q *root.Pressure) (arrives ratio, flooded bool) {
	if end, known := e.end(); known && g.timeline.hasOnset() {
		arrives, flooded = g.arrivesNow(end, q), q.IsFlooded(&e.drain, end)
	}
	return arrives, flooded
}

// end is the switch where the traffic of a region of a grid ends, if known: by the comparison of all places where that
// is the more reliable, else the end of the tree. If traffic waits for a full link (fullLink), it need not end at the
// nodes there.
func (e *ends) end() (at topology.DeviceID, known bool) {
	if e.endsAtNodes() {
		return e.endings.Any.Device, true
	}
	return e.drain.End()
}

// endBeyondLinks is that switch if traffic waits for no full link before it.
func (e *ends) endBeyondLinks() (at topology.DeviceID, known bool) {
	at, known = e.end()
	return at, known && e.fullLink == schema.NoLink
}

// exactFit is the fit from which the tree of a job's nodes overrides other evidence of where it ends; a tree that seems
// to end beside one of the nodes ends at it.
const exactFit = .95

// endsAtNodes reports whether the back pressure of a region of a grid ends at a switch's nodes by the comparison of all
// places, which is more reliable than the tree if readings are the mean of both directions.
func (e *ends) endsAtNodes() bool {
	end := &e.endings.Any
	return e.endings.OfMeans && end.Found && end.Link == schema.NoLink && e.drain.Fit < exactFit
}

// endsAtSlowLink reports whether the comparison of all places shows that a link of a grid lost rate, where nothing else
// does: no load was added, and no tree to nodes fits almost exactly.
func (e *ends) endsAtSlowLink() bool {
	named := e.neck.Slower && e.neck.Before(&e.drain)
	return !named && !e.flooded && e.drain.Fit < exactFit && e.endings.AtSlowLink()
}

// hasBeside reports whether a job has a node at a switch of a grid or one step away along the last dimension:
// neighbours on a line show nearly the same.
func (in *interval) hasBeside(j *job, at topology.DeviceID) bool { return in.anyBeside(j.Devices, at) }

// anyBeside reports the same of a list of devices in ascending order.
func (in *interval) anyBeside(devices []topology.DeviceID, at topology.DeviceID) bool {
	grid := in.router.Grid
	last := len(grid.Dims()) - 1
	line := grid.Line(at, last)
	for steps := -1; steps <= 1; steps++ {
		d := line.Device(steps)
		away := grid.Steps(at, d, last) // a line of a mesh ends
		if _, has := slices.BinarySearch(devices, d); has && max(away, -away) <= 1 {
			return true
		}
	}
	return false
}
