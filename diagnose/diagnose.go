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
		if region := &r.Regions[i]; region.Severity >= schema.Low && len(region.Links) > 0 &&
			int(region.Links[len(region.Links)-1]) < s.graph.NumLinks() {
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
	s.findTogether(cases)
	out := make([]schema.Diagnosis, len(cases))
	s.read = s.finder.On(snap)
	s.read.Remember(&s.floor)
	s.compare()
	s.history.FindSilent()
	for _, within := range [2]bool{false, true} { // stall inside switches after the stalled links around it
		for i := range cases {
			if rc := &cases[i]; within == (rc.region.Metric == schema.InqStall) {
				rc.examine(snap)
				rc.verdict = rc.inside(rc.decision().decide(), cases)
				rc.nodes = rc.nodesEnd()
			}
		}
	}
	for i := range cases {
		out[i] = (&report{&cases[i]}).diagnosis(snap)
	}
	s.forgetKept()
	s.forgetMeans()
	s.forgetRoots()
	return out
}

// examine measures what speaks for each cause of a region. Its timeline and where it stalls are known (begin).
func (rc *regionCase) examine(snap *schema.Snapshot) {
	rc.load = rc.loadRatio()
	rc.ground().cutStall()
	rc.p = rc.in.read.For(snap.Find(rc.region.Metric), rc.past())
	rc.back = rc.in.finder.Follow(rc.p, rc.region, rc.weight)
	rc.root.link, rc.root.carries, rc.root.added = rc.rootLoad(&rc.back)
	rc.near()
	rc.measure()
	rc.converge()
	rc.findAdded()
}

// rootLoad returns the root of a region or, if it has none, its fullest link, what that carries, bytes/s, and by how
// much more than before the onset.
func (rc *regionCase) rootLoad(back *root.BackPressure) (fullest schema.LinkID, carries, more float64) {
	fullest, carries, more = rc.p.LoadAt(back, rc.region.Links)
	if !rc.in.measuresLoad {
		carries = rc.assumedLoad(back)
	}
	return fullest, carries, more
}

// converge finds where the traffic of a region ends, and the failures near it. Stall inside switches lies beside the
// tree; the links that stall for credits are the tree.
func (rc *regionCase) converge() {
	p := rc.p
	if rc.region.Metric == schema.InqStall && p.Credit != nil {
		p = rc.in.read.For(p.Credit, p.Past)
	}
	senders := rc.ground().findEnds(p)
	rc.nearFailures()
	rc.ground().fitFailures(p, rc.failures[:min(len(rc.failures), maxFitted)], senders)
	rc.sortFailures()
}

// assumedUse is the load assumed of a root whose load is not measured, as a share of its capacity: it sends while
// traffic waits for it, but a cable that lost lanes sends less, and stall may last for a part of the interval.
const assumedUse = .5

// assumedLoad is what the root of a region carries if no load is measured, bytes/s. Where its port is not known, it has
// the capacity of the link that stalls most.
func (rc *regionCase) assumedLoad(back *root.BackPressure) float64 {
	l := back.Root.Link
	if !back.HasRoot() {
		l = rc.region.Links[slices.Index(rc.weight, slices.Max(rc.weight))]
	}
	return assumedUse * rc.in.graph.Capacity(l)
}
