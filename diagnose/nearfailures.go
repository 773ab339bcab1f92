package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// nearFailure is a failure within the hops of a region: a row of the F table. All are anomalous (Monet,
// section 7).
type nearFailure struct {
	*history.PlacedFailure
	silent *history.SilentCable // set if only counters show it, no log
	hops   int
	// restored: it came back long enough ago for its traffic to be back, too. over: and no load readings show whether
	// with fewer lanes.
	restored, over bool

	score float64
	stall float64 // around what failed, percent
	// part of the region that leads to it rather than to other failures: share of links on a grid, else stall, percent
	share float64
}

func (f *nearFailure) report() schema.NearFailure {
	return schema.NearFailure{Time: f.Time, Kind: f.Kind, Device: f.Device, Port: f.Port, Hops: f.hops}
}

// fell reports whether counters leave no doubt that the part is dead.
func (f *nearFailure) fell() bool { return f.silent != nil && f.silent.Doubt == 0 }

// rateFailures lists the failures near the region that reach searched last, with their scores.
func (rc *regionCase) rateFailures() {
	rc.in.beside.index(rc.region.Links)
	for i := range rc.in.history.Failures {
		rc.addNear(&rc.in.history.Failures[i], nil)
	}
	for i := range rc.in.history.Silent {
		c := &rc.in.history.Silent[i]
		switch {
		case c.Logged:
		case c.FedBy >= 0: // listed as the cable that fed it
			rc.addNear(&c.PlacedFailure, &rc.in.history.Silent[c.FedBy])
		default:
			rc.addNear(&c.PlacedFailure, c)
		}
	}
	rc.findRestored()
	rc.sortFailures()
	rc.rules().fitFailures(rc.failures[:min(len(rc.failures), maxFitted)])
	rc.sortFailures()
}

// sortFailures sorts the failures near a region, the most likely first; those that are over last.
func (rc *regionCase) sortFailures() {
	slices.SortStableFunc(rc.failures, func(a, b nearFailure) int {
		switch {
		case b.over && !a.over:
			return -1
		case a.over && !b.over:
			return 1
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.stall, a.stall), cmp.Compare(b.Time, a.Time))
	})
}

// addNear adds a failure to those near a region, if it is near. If only counters show it, c is the silent cable to
// list: f itself, or the one that fed f.
func (rc *regionCase) addNear(f *history.PlacedFailure, c *history.SilentCable) {
	hops := beyondHops
	for _, d := range f.Devices {
		if h := rc.in.reach.hopsTo(d); h != beyondHops && (hops == beyondHops || h < hops) {
			hops = h
		}
	}
	if hops == beyondHops {
		return
	}
	sure := 1.
	if c != nil {
		sure -= c.Doubt
	}
	score, moved := rc.rateFailure(f, hops, sure)
	rc.rerouted = max(rc.rerouted, moved)
	near := nearFailure{PlacedFailure: f, silent: c, hops: hops, score: score, stall: rc.stallAround(f)}
	if c == nil {
		rc.failures = append(rc.failures, near)
		return
	}
	near.PlacedFailure = &c.PlacedFailure
	near.score -= history.SilentDoubt * c.Doubt
	if i := slices.IndexFunc(rc.failures, func(o nearFailure) bool { return o.silent == c }); i < 0 {
		rc.failures = append(rc.failures, near)
	} else if near.score > rc.failures[i].score {
		rc.failures[i] = near
	}
}

// maxFitted bounds the failures near a region whose links are compared with it.
const maxFitted = 8

// fitFailures: the region leads to failures by the stall that ends at their links.
func (d directed) fitFailures(near []nearFailure) {
	for i := range near {
		f := &near[i]
		f.share = d.back.EndsAt(f.Links, d.in.graph)
		if d.back.Root.Kind == schema.RootSlowReceiver && d.isUnrelated(f) {
			f.score -= waitsForHost
		}
	}
	if len(near) > 0 && near[0].score > 0 {
		return // it agrees in time
	}
	for i := range d.failures {
		if f := &d.failures[i]; d.leavesTooLittle(f) {
			f.score = max(f.score, failureStands)
		}
	}
}

// leavesTooLittle reports whether, without load readings, a region ends at links that have to carry what a part that is
// still down carried, and never stalled half as much before: whenever the traffic is highest these have too little room.
func (d directed) leavesTooLittle(f *nearFailure) bool {
	at := d.timeline.indexIn(f.Time)
	if d.in.measuresLoad || !f.Broke() || f.restored || d.back.Switch.Kind != schema.RootLinkCapacity ||
		at < leastBaseline || at >= len(d.timeline.stall) || !d.replaces(f.PlacedFailure) {
		return false
	}
	now := d.timeline.stall[len(d.timeline.stall)-1]
	return !slices.ContainsFunc(d.timeline.stall[:at], func(before float64) bool { return before > now/2 })
}

// replaces reports whether the switch where the stall of a region ends has links for the traffic of a failed one, or what is
// left of that: in a tree it is the lower end of that, or beside the upper one and joined to the lower; else either end.
func (d directed) replaces(f *history.PlacedFailure) bool {
	here := d.back.Switch.Device
	return slices.ContainsFunc(f.Links, func(l schema.LinkID) bool {
		from, to := d.in.graph.Ends(l)
		a, b := d.in.graph.Device(from).Level, d.in.graph.Device(to).Level
		switch {
		case !d.in.graph.BetweenSwitches(l) || a > b:
			return false
		case a == b:
			return here == from || here == to
		}
		return here != to && (here == from || d.in.graph.Device(here).Level == b && d.in.graph.Adjacent(here, from))
	})
}

// fitFailures: the region leads to failures by the routes of suspects over their links.
func (g grid) fitFailures(near []nearFailure) {
	if g.in.router.Grid == nil || len(near) == 0 {
		return
	}
	var failed, dead []schema.LinkID
	for i := range near {
		f, first := &near[i], schema.NoLink
		if f.Port != "" && len(f.Links) > 0 {
			first = f.Links[0]
		}
		failed = append(failed, first)
		if f.Port != "" && f.Broke() {
			dead = append(dead, f.Links...)
		}
	}
	for i, share := range g.onGrid.Shares(g.creditPressure, failed, dead, g.senders) {
		f := &near[i]
		f.share = share
		if share == 0 && !g.in.measuresLoad && failed[i] != schema.NoLink && f.Broke() && !f.over {
			f.score -= leadsElsewhere
		}
	}
}

// stallAround is the stall of a failed part: of its own links where measured, with a small part of the stall
// of others at its ends and of its load before.
func (rc *regionCase) stallAround(f *history.PlacedFailure) float64 {
	sum := 0.
	for _, l := range f.Links {
		sum += .2 * rc.baselineUse(l).orZero()
	}
	for _, i := range rc.in.beside.find(f.Devices) {
		if slices.Contains(f.Links, rc.region.Links[i]) {
			sum += 3 * rc.weight[i]
		} else {
			sum += .1 * rc.weight[i]
		}
	}
	return sum
}

// logged moves the failures that best explain why a link carries less to the front, and returns how many of them are
// listed.
func (rc *regionCase) logged(lost schema.LinkID) int {
	if lost == schema.NoLink {
		return 0
	}
	rank := func(f *nearFailure) lossReason { return rc.reasonFor(lost, f) }
	slices.SortStableFunc(rc.failures, func(a, b nearFailure) int { return cmp.Compare(rank(&a), rank(&b)) })
	n := 0
	for n < min(len(rc.failures), rc.in.cfg.MaxListed) && rank(&rc.failures[n]) == rank(&rc.failures[0]) &&
		rank(&rc.failures[n]) < noReason {
		n++
	}
	return n
}

// lossReason is how a failure explains that a link carries less, the best first: the link itself failed, or one at its
// ends, or one a hop away that fed it, if that failed when the region began.
type lossReason int

const (
	itself lossReason = iota
	atItsEnds
	hopAway
	noReason
)

// reasonFor is how a failure explains that a link carries less.
func (rc *regionCase) reasonFor(lost schema.LinkID, f *nearFailure) lossReason {
	from, to := rc.in.graph.Ends(lost)
	isHopAway := func(at topology.DeviceID) bool {
		return rc.in.graph.Adjacent(at, from) || rc.in.graph.Adjacent(at, to)
	}
	switch {
	case !f.Broke() || f.restored || f.silent != nil:
		return noReason
	case slices.Contains(f.Links, lost):
		return itself
	case rc.in.history.PassesNothing(f.PlacedFailure) || rc.in.history.WasIdle(f.PlacedFailure):
		return noReason
	case slices.Contains(f.Devices, from) || slices.Contains(f.Devices, to):
		return atItsEnds
	case f.score > 0 && !rc.rules().isUnrelated(f) && slices.ContainsFunc(f.Devices, isHopAway):
		return hopAway
	}
	return noReason
}

// findRestored finds the failures near a region whose part came back long enough ago for its traffic to be back, too.
func (rc *regionCase) findRestored() {
	back := map[history.Part]schema.Instant{} // when it came back last
	for i := range rc.failures {
		if f := &rc.failures[i]; !f.Broke() &&
			rc.in.history.Clock.Now-rc.in.history.Clock.SlotOf(int64(f.Time)) > settle {
			back[f.Part()] = max(back[f.Part()], f.Time)
		}
	}
	if len(back) == 0 {
		return
	}
	for i := range rc.failures {
		f := &rc.failures[i]
		at, came := back[f.Part()]
		f.restored = f.Broke() && came && at >= f.Time
		f.over = f.restored && rc.isStallOnly()
	}
}
