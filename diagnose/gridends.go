package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ends are where the traffic of a region of a grid converges, and where it ends.
type ends struct {
	drain      root.Drain
	sender     *job // its nodes send what converges on the drain; nil: unknown
	bottleneck root.Bottleneck
	fullLink   schema.LinkID // the full link that most traffic waits for; NoLink: unknown
	endings    root.Endings
	arrives    ratio   // load of the links where its traffic ends, relative to the baseline
	flooded    bool    // load was added where the region's traffic ends, even if the mean load fell
	starved    float64 // 0 to 1: how far the node where it ends gets less than its share of its job's exchange
}

// findEnds finds them in this order: each rests on those before.
func (g grid) findEnds() {
	var jobs []*job
	g.senders, jobs = g.findSenders()
	g.ends = g.endsBy(jobs)
	g.findConverging()
	g.findEmpty()
}

// mostSenders bounds the jobs that are tried as senders of a tree on a grid.
const mostSenders = 3

// mostExchange is the least share of a region's stall on links of a job's exchange for the job to be a likely sender.
const mostExchange = .5

// findSenders lists the jobs on whose links most of a grid region's stall is, likeliest first. The lists are valid
// until the next call.
func (g grid) findSenders() (senders []root.Sender, jobs []*job) {
	senders, jobs = g.in.scratch.senders[:0], g.in.scratch.sending[:0]
	if g.in.router.Grid == nil {
		return nil, nil
	}
	var out []*suspect
	for i := range g.suspects {
		if c := &g.suspects[i]; c.reaches() >= mostExchange && len(c.job.Devices) > 1 {
			out = append(out, c)
		}
	}
	weight := func(c *suspect) float64 { return max(c.cross, c.gate) + c.share }
	slices.SortStableFunc(out, func(a, b *suspect) int { return cmp.Compare(weight(b), weight(a)) })
	for _, c := range out[:min(len(out), mostSenders)] {
		jobs = append(jobs, c.job)
		senders = append(senders, root.Sender{Devices: c.job.Devices, Routes: g.in.routesOf(c.job)})
	}
	g.in.scratch.senders, g.in.scratch.sending = senders, jobs
	return senders, jobs
}

// endsBy finds them by the readings and their mean since the onset. The jobs are those that probably send (senders).
func (g grid) endsBy(jobs []*job) (e ends) {
	q, isSteady, from := g.averaged(g.creditPressure), !g.load.atLeast(root.SteadyLoad), -1
	g.onGrid = g.in.finder.Region(q, g.region.Links)
	if e.drain, from = g.onGrid.Drain(g.senders); from >= 0 {
		e.sender = jobs[from]
	}
	e.bottleneck = g.onGrid.Bottleneck(g.creditPressure, g.senders, &e.drain, isSteady)
	e.fullLink = g.onGrid.FullLink(&e.bottleneck, &e.drain)
	e.endings = g.onGrid.Endings(&e.drain)
	if e.arrives, e.flooded = g.arriving(&e, q); isSteady && e.endsAtSlowLink() {
		e.bottleneck = e.endings.Bottleneck()
	}
	e.starved = g.shortfall(&e, q)
	return e
}

// endIntervals is how many intervals since the onset are averaged to find where a region's traffic converges:
// neighbours on a line differ by little more than the noise of one interval.
const endIntervals = 8

// averaged returns readings, averaged over the last intervals since a region's onset.
func (g grid) averaged(p *root.Pressure) *root.Pressure {
	n := min(endIntervals, len(g.timeline.stall)-g.timeline.onset)
	if !g.timeline.hasOnset() || n < 2 {
		return p
	}
	from, q := g.in.history.Clock.Now-int64(n)+1, *p
	of := func(now *schema.Series) *schema.Series {
		if now == nil || g.in.history.LevelsOf(now.Metric) == nil {
			return now
		}
		return g.in.history.Average(now.Metric, from)
	}
	q.Stall, q.Credit, q.Inq, q.Use = of(p.Stall), of(p.Credit), of(p.Inq), of(p.Use)
	// remembered as shares of capacity
	if p.Use == nil && p.Rate != nil && g.in.history.LevelsOf(schema.BandwidthUsed) != nil {
		q.Use = g.in.history.Average(schema.BandwidthUsed, from)
	}
	return &q
}

// arriving is the load of the links of the switch where a region's traffic ends, relative to the baseline, and whether
// load was added there.
func (g grid) arriving(e *ends, q *root.Pressure) (arrives ratio, flooded bool) {
	if end, known := e.end(); known && g.timeline.hasOnset() {
		arrives, flooded = g.arrivesNow(end, q), q.IsFlooded(&e.drain, end)
	}
	return arrives, flooded
}

// arrivesNow is the load of the links of the switch where a region's traffic ends, relative to the baseline. Both
// loads are as remembered, with the same rounding.
func (g grid) arrivesNow(end topology.DeviceID, p *root.Pressure) ratio {
	q := *p
	if g.in.history.LevelsOf(schema.BandwidthUsed) != nil {
		n := max(1, min(endIntervals, len(g.timeline.stall)-g.timeline.onset))
		q.Use = g.in.history.Average(schema.BandwidthUsed, g.in.history.Clock.Now-int64(n)+1)
	}
	times := q.Arrives(end)
	return ratio{times, times > 0}
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
	named := e.bottleneck.Slower && e.bottleneck.Before(&e.drain)
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

// nodesEnd is the switch at whose nodes the back pressure of a region of a grid ends, if it ends at nodes: what a job
// exchanges or reads goes to its own nodes, what it writes to storage nodes, which are in no job. nil: unknown.
func (rc *regionCase) nodesEnd() *topology.Device {
	if !rc.ends.endings.Nodes.Found {
		return nil
	}
	return rc.in.graph.Device(rc.onGrid.NodesEnd(func(at topology.DeviceID) (most float64) {
		for i := range rc.verdict.accused {
			most = max(most, rc.receivesAt(&rc.suspects[i], at))
		}
		return most
	}))
}

// receivesAt is how surely, 0 to 1, nodes of a switch can receive the traffic for which a job is accused.
func (rc *regionCase) receivesAt(c *suspect, at topology.DeviceID) float64 {
	has := c.job.Has(at)
	reads, _ := rc.in.maximum(c.job, history.Read)
	switch writes, _ := rc.in.maximum(c.job, history.Write); {
	case c.file && writes > reads:
		has = len(rc.in.tenants[at]) == 0
	case c.away:
		return rc.endFit(c, at)
	}
	if !has {
		return 0
	}
	return 1
}

// nodesProbability is the probability that the back pressure of a region of a grid ends at a switch's nodes, not at a
// link. A tree that fits almost exactly does.
func (e *ends) nodesProbability() float64 {
	switch {
	case !e.endings.Any.Found:
		return .5
	case e.drain.Fit >= exactFit:
		return 1
	}
	return e.endings.AtNodes
}

// endsElsewhere is the evidence, log odds, against a cause by the probability that back pressure ends where it would
// with that.
func endsElsewhere(probability float64) float64 {
	return -math.Log(min(1, 2*max(leastEnding, probability)))
}

// leastEnding is the minimum of that probability, however surely back pressure seems to end elsewhere.
const leastEnding = .02
