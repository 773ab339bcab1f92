package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// diagnose returns a verdict for every region of severity Low or higher. What is the same for all of them is measured
// first; then each is judged, and then each is reported.
func (s *Stage) diagnose(r *schema.IntervalResult) []schema.Diagnosis {
	if len(r.Regions) == 0 {
		return nil
	}
	snap := s.history.Fill(r.Snapshot)
	cases := s.open(snap, r.Regions)
	if len(cases) == 0 {
		return nil
	}
	s.measure(snap, cases)
	for _, within := range [2]bool{false, true} { // stall inside switches after the stalled links around it
		for i := range cases {
			if rc := &cases[i]; within == (rc.region.Metric == schema.InqStall) {
				rc.judge(snap, cases)
			}
		}
	}
	out := make([]schema.Diagnosis, len(cases))
	for i := range cases {
		out[i] = cases[i].report(snap)
	}
	s.earlier.forget(s.history.Clock.Now, int64(s.cfg.Window))
	return out
}

// open begins the cases of the regions of severity Low or higher.
func (s *Stage) open(snap *schema.Snapshot, regions []schema.Region) []regionCase {
	cases := s.scratch.cases[:0]
	for i := range regions {
		if region := &regions[i]; region.Severity >= schema.Low && len(region.Links) > 0 &&
			int(region.Links[len(region.Links)-1]) < s.graph.NumLinks() {
			cases = slices.Grow(cases, 1)[:len(cases)+1]
			s.begin(&cases[len(cases)-1], snap, region)
		}
	}
	s.scratch.cases = cases
	return cases
}

// measure measures the fabric as a whole: its jobs, with the regions that their traffic can cross, and its links.
func (s *Stage) measure(snap *schema.Snapshot, cases []regionCase) {
	s.findRunning()
	s.findReaders()
	s.crossing(cases)
	s.findTogether(cases)
	s.read = s.finder.On(snap)
	s.read.Remember(&s.floor)
	s.compare()
	s.history.FindSilent()
	s.findLastFailed()
}

// judge finds the cause of a region.
func (rc *regionCase) judge(snap *schema.Snapshot, cases []regionCase) {
	rc.examine(snap)
	rc.rateFailures()
	rc.rate()
	rc.verdict = rc.decide()
	rc.nodes = rc.nodesEnd()
	rc.takeOver(cases)
}

// examine measures a region. Its timeline and where it stalls are known (begin).
func (rc *regionCase) examine(snap *schema.Snapshot) {
	rc.load = rc.loadRatio()
	rc.rules().cutStall()
	rc.pressure = rc.in.read.For(snap.Find(rc.region.Metric), rc.past())
	rc.back = rc.in.finder.Follow(rc.pressure, rc.region, rc.weight)
	rc.root = rc.rootLoad()
	rc.rules().findSink()
	rc.findSuspects()
	rc.measureSuspects()
	rc.creditPressure = rc.pressure
	if rc.region.Metric == schema.InqStall && rc.pressure.Credit != nil {
		rc.creditPressure = rc.in.read.For(rc.pressure.Credit, rc.pressure.Past)
	}
	rc.rules().findEnds()
	rc.findAdded()
}

// rate finds the scores of jobs, of a slow host and of a link that lost rate, given those of failures, and replaces all
// of them by their means over the region's last intervals. It orders the suspects by them.
func (rc *regionCase) rate() {
	for i := range rc.suspects {
		c := &rc.suspects[i]
		c.score = rc.rateJob(c)
	}
	rc.hostScore, rc.linkScore = rc.smooth(rc.rateSlowHost(), rc.rateSlowLink())
	slices.SortFunc(rc.suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.job.ID, b.job.ID),
			cmp.Compare(a.job.Start, b.job.Start))
	})
}

// rootLoad is the load of the root of a region or, if it has none, of its fullest link.
func (rc *regionCase) rootLoad() (of rootLoad) {
	of.link, of.carries, of.added = rc.pressure.LoadAt(&rc.back, rc.region.Links)
	if !rc.in.measuresLoad {
		of.carries = rc.assumedLoad()
	}
	return of
}

// assumedUse is the load assumed of a root whose load is not measured, as a share of its capacity: it sends while
// traffic waits for it, but a cable that lost lanes sends less, and stall may last for a part of the interval.
const assumedUse = .5

// assumedLoad is what the root of a region carries if no load is measured, bytes/s. Where its port is not known, it has
// the capacity of the link that stalls most. The port of an incast is full while a link waits for it.
func (rc *regionCase) assumedLoad() float64 {
	l, use := rc.back.Root.Link, assumedUse
	if !rc.back.HasRoot() {
		l = rc.region.Links[slices.Index(rc.weight, slices.Max(rc.weight))]
	}
	if rc.back.IsIncast() {
		use = max(use, slices.Max(rc.waits))
	}
	return use * rc.in.graph.Capacity(l)
}
