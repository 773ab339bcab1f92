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
				s.examine(rc, snap)
				rc.verdict = s.inside(rc, s.decide(rc), cases)
				rc.nodes = s.nodesEnd(rc, &rc.verdict)
			}
		}
	}
	for i := range cases {
		out[i] = s.report(snap, &cases[i], &cases[i].verdict)
	}
	s.forgetKept()
	s.forgetMeans()
	s.forgetRoots()
	return out
}

// examine gathers the evidence on each cause of a region.
func (s *Stage) examine(rc *regionCase, snap *schema.Snapshot) {
	s.p.Stall = snap.Find(rc.region.Metric)
	rc.load = s.loadChange(rc)
	s.cutToFirstStep(rc)
	s.p.Flat = func(l schema.LinkID) bool { return s.isFlat(rc, l) }
	s.p.Before = s.usedBefore(rc)
	rc.back = s.p.Follow(rc.region, rc.weight)
	if rc.fullest, rc.carries, rc.more = s.p.LoadAt(&rc.back, rc.region.Links); !s.loads {
		rc.carries = s.assumedLoad(rc)
	}
	s.near(rc)
	s.measure(rc)
	s.converge(rc)
}

// converge finds where the traffic of a region on a grid converges, averaged over several intervals. Stall inside switches
// lies beside the tree; the links that stall for credits are the tree.
func (s *Stage) converge(rc *regionCase) {
	if stall := s.p.Stall; rc.region.Metric == schema.InqStall && s.p.Credit != nil {
		s.p.Stall = s.p.Credit
		defer func() { s.p.Stall = stall }()
	}
	q := s.averaged(rc)
	s.findSenders(rc)
	s.drain(rc, q)
	isSteady := rc.load < root.SteadyLoad
	rc.neck = s.finder.Neck(s.p, rc.region.Links, s.senders, &rc.drain, isSteady)
	rc.full = q.FullLink(rc.region.Links, &rc.neck, &rc.drain)
	rc.endings = s.finder.Endings(q, &rc.drain)
	if s.findArriving(rc, q); isSteady && rc.endsAtSlowLink() {
		rc.neck = rc.endings.Neck()
	}
	rc.starved = s.starves(rc, q)
	s.nearFailures(rc)
	s.fitFailures(rc)
}

// drain finds the switch that a region's traffic converges on, and whose nodes send it.
func (s *Stage) drain(rc *regionCase, p *root.Pressure) {
	from := -1
	rc.drain, from = s.finder.Drain(p, rc.region.Links, s.senders, s.history.UseRound())
	if rc.sender = nil; from >= 0 {
		rc.sender = s.sending[from]
	}
}

// findArriving finds whether the load where the traffic of a region on a grid ends rose since its onset.
func (s *Stage) findArriving(rc *regionCase, p *root.Pressure) {
	rc.flooded, rc.arrives = false, 0
	if end, known := rc.end(); known && s.graph.Duplex() && rc.onset >= 0 {
		rc.flooded, rc.arrives = p.IsFlooded(&rc.drain, end), s.arrives(rc, end, p)
	}
	rc.flooded = rc.flooded || s.newJobsLoad(rc)
}

// assumedUse is the load assumed of a root whose load is not measured, as a share of its capacity: it sends while traffic waits for
// it, but a cable that lost lanes sends less, and stall may last for a part of the interval.
const assumedUse = .5

// assumedLoad is what the root of a region carries if no load is measured, bytes/s. Where its port is not known, it has the capacity
// of the link that stalls most.
func (s *Stage) assumedLoad(rc *regionCase) float64 {
	l := rc.back.Link
	if rc.back.Kind == "" {
		l = rc.region.Links[slices.Index(rc.weight, slices.Max(rc.weight))]
	}
	return assumedUse * s.graph.Capacity(l)
}
