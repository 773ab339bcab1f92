package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// diagnose returns a verdict for every region of severity Low or higher.
func (s *Stage) diagnose(r *schema.IntervalResult) []schema.Diagnosis {
	if len(r.Regions) == 0 {
		return nil
	}
	cases := s.scratch.cases[:0]
	defer func() { s.scratch.cases = cases }()
	snap := s.history.Fill(r.Snapshot)
	for i := range r.Regions {
		if region := &r.Regions[i]; region.Severity >= schema.Low && len(region.Links) > 0 && int(region.Links[len(region.Links)-1]) < s.graph.NumLinks() {
			cases = slices.Grow(cases, 1)[:len(cases)+1]
			s.begin(&cases[len(cases)-1], snap, region)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	s.findRunning()
	s.findReaders()
	s.crossing(cases)
	out := make([]schema.Diagnosis, len(cases))
	p := s.finder.On(snap)
	s.p = p
	p.Remember(&s.floor)
	s.compare()
	s.history.FindSilent()
	for _, within := range [2]bool{false, true} { // stall inside switches after the stalled links around it
		for i := range cases {
			if rc := &cases[i]; within == (rc.region.Metric == schema.InqStall) {
				rc.examine(snap)
				rc.verdict = rc.inside(rc.decide(), cases)
				rc.nodes = rc.nodesEnd(&rc.verdict)
			}
		}
	}
	for i := range cases {
		out[i] = cases[i].report(snap, &cases[i].verdict)
	}
	s.forgetKept()
	s.forgetMeans()
	s.forgetRoots()
	return out
}

// examine gathers the evidence on each cause of a region.
func (rc *regionCase) examine(snap *schema.Snapshot) {
	rc.p.Stall = snap.Find(rc.region.Metric)
	rc.load = rc.loadNow()
	rc.cutToFirstStep()
	rc.p.Flat = func(l schema.LinkID) bool { return rc.isFlat(l) }
	rc.p.Before = rc.usedBefore()
	rc.back = rc.p.Follow(rc.region, rc.weight)
	if rc.fullest, rc.carries, rc.more = rc.p.LoadAt(&rc.back, rc.region.Links); !rc.loads {
		rc.carries = rc.assumedLoad()
	}
	rc.near()
	rc.measure()
	rc.converge()
}

// converge finds where the traffic of a region on a grid converges, averaged over several intervals. Stall inside switches
// lies beside the tree; the links that stall for credits are the tree.
func (rc *regionCase) converge() {
	if stall := rc.p.Stall; rc.region.Metric == schema.InqStall && rc.p.Credit != nil {
		rc.p.Stall = rc.p.Credit
		defer func() { rc.p.Stall = stall }()
	}
	q := rc.averaged()
	rc.findSenders()
	rc.findDrain(q)
	isSteady := rc.load < root.SteadyLoad
	rc.neck = rc.finder.Neck(rc.p, rc.region.Links, rc.senders, &rc.drain, isSteady)
	rc.full = q.FullLink(rc.region.Links, &rc.neck, &rc.drain)
	rc.endings = rc.finder.Endings(q, &rc.drain)
	if rc.findArriving(q); isSteady && rc.endsAtSlowLink() {
		rc.neck = rc.endings.Neck()
	}
	rc.starved = rc.starves(q)
	rc.nearFailures()
	rc.fitFailures()
}

// drain finds the switch that a region's traffic converges on, and whose nodes send it.
func (rc *regionCase) findDrain(p *root.Pressure) {
	from := -1
	rc.drain, from = rc.finder.Drain(p, rc.region.Links, rc.senders, rc.history.UseRound())
	if rc.sender = nil; from >= 0 {
		rc.sender = rc.sending[from]
	}
}

// findArriving finds whether the load where the traffic of a region on a grid ends rose since its onset.
func (rc *regionCase) findArriving(p *root.Pressure) {
	rc.flooded, rc.arrives = false, 0
	if end, known := rc.end(); known && rc.graph.Duplex() && rc.onset >= 0 {
		rc.flooded, rc.arrives = p.IsFlooded(&rc.drain, end), rc.arrivesNow(end, p)
	}
	rc.flooded = rc.flooded || rc.newJobsLoad()
}

// assumedUse is the load assumed of a root whose load is not measured, as a share of its capacity: it sends while traffic waits for
// it, but a cable that lost lanes sends less, and stall may last for a part of the interval.
const assumedUse = .5

// assumedLoad is what the root of a region carries if no load is measured, bytes/s. Where its port is not known, it has the capacity
// of the link that stalls most.
func (rc *regionCase) assumedLoad() float64 {
	l := rc.back.Link
	if rc.back.Kind == "" {
		l = rc.region.Links[slices.Index(rc.weight, slices.Max(rc.weight))]
	}
	return assumedUse * rc.graph.Capacity(l)
}
