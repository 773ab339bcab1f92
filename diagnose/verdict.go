package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// diagnose gives a verdict for every region at Low or above.
func (s *Stage) diagnose(r *schema.IntervalResult) []schema.Diagnosis {
	if len(r.Regions) == 0 {
		return nil
	}
	cases := s.work.cases[:0]
	defer func() { s.work.cases = cases }()
	snap := s.work.gaps.fill(r.Snapshot, &s.memory, s.clock.now, func(link int) float64 { return s.graph.Capacity(schema.LinkID(link)) })
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
	p := newPressure(s.graph, snap)
	p.ends = &s.work.ends
	s.compare(p)
	s.findSilent(p)
	for _, within := range [2]bool{false, true} { // what waits inside switches after the links that stall around it
		for i := range cases {
			if rc := &cases[i]; within == (rc.region.Metric == schema.InqStall) {
				s.examine(rc, p, snap)
			}
		}
		s.shareEnds(cases, within, p, snap)
		trees := slowTrees(cases)
		for i := range cases {
			if rc := &cases[i]; within == (rc.region.Metric == schema.InqStall) {
				p.stall = snap.Find(rc.region.Metric)
				p.before = s.usedBefore(rc)
				rc.trees = trees
				rc.verdict = s.inside(rc, s.decide(rc, p), cases)
				rc.sink = s.sinkOf(rc, &rc.verdict, p)
				out[i] = s.report(snap, rc, &rc.verdict)
			}
		}
	}
	s.forgetKept()
	s.forgetMeans()
	return out
}

// slowTrees is how many switches trees of held-back traffic lead to, to which nothing was added.
func slowTrees(cases []regionCase) int {
	n := 0
	for i := range cases {
		d := &cases[i].drain
		if d.fit < surelyDrains || d.grew && cases[i].onset >= 0 {
			continue
		}
		if !slices.ContainsFunc(cases[:i], func(c regionCase) bool { return c.drain.fit >= surelyDrains && c.drain.device == d.device }) {
			n++
		}
	}
	return n
}

// examine finds what speaks for and against each cause of a region.
func (s *Stage) examine(rc *regionCase, p *pressure, snap *schema.Snapshot) {
	p.stall = snap.Find(rc.region.Metric)
	rc.load = s.loadChange(rc)
	rc.back = p.follow(rc, s.usedBefore(rc))
	rc.fullest, rc.carries, rc.more = p.flood(rc)
	rc.centre = s.centreOf(rc)
	s.near(rc)
	s.measure(rc, p)
	s.nearFailures(rc, p)
	s.converge(rc, p)
	rc.full = s.fullLink(rc, p)
}

// converge finds what the traffic of a region on a grid converges on. What waits inside a switch waits beside the
// tree, the links that stall for credits are the tree. What is held back is sought in the mean of several intervals, what
// was added in one: senders that are only estimated fit means of added load better than those who sent it.
func (s *Stage) converge(rc *regionCase, p *pressure) {
	if stall := p.stall; rc.region.Metric == schema.InqStall && p.credit != nil {
		p.stall = p.credit
		defer func() { p.stall = stall }()
	}
	q := p
	if rc.load < steadyLoad {
		q = s.averaged(rc, p)
	}
	s.drain(rc, q)
	if rc.flooded && q != p {
		q = p
		s.drain(rc, q)
	}
	rc.neck = s.neckOf(rc, q)
	s.fitFailures(rc, p)
}

// drain finds the switch that the traffic of a region converges on, and whether load was added there.
func (s *Stage) drain(rc *regionCase, p *pressure) {
	s.work.held.turnTo(p.stall, s.work.past.round)
	rc.drain = s.drainOf(rc, p)
	rc.flooded = s.floods(rc, p)
}

// findRunning lists the jobs that run in the interval.
func (s *Stage) findRunning() {
	from, to := s.clock.now*s.clock.duration, (s.clock.now+1)*s.clock.duration
	s.work.running = s.work.running[:0]
	s.work.interval++
	s.work.laggedUsed = 0
	for _, d := range s.work.settled {
		s.work.tenants[d] = s.work.tenants[d][:0]
	}
	s.work.settled = s.work.settled[:0]
	for _, j := range s.jobs.all() {
		if int64(j.Start) < to && (j.End == 0 || int64(j.End) > from) && len(j.devices) > 0 {
			s.work.running = append(s.work.running, j)
			s.settle(j)
		}
	}
}

// settle notes whose nodes stand at which devices.
func (s *Stage) settle(j *job) {
	for _, d := range j.devices {
		at := d
		if !s.graph.IsSwitch(d) {
			at = s.router.leafOf(d)
		}
		for _, d := range [2]topology.DeviceID{d, at} {
			t := s.work.tenants[d]
			if len(t) == 0 {
				s.work.settled = append(s.work.settled, d)
			}
			if len(t) == 0 || t[len(t)-1] != j {
				s.work.tenants[d] = append(t, j)
			}
		}
	}
}

func newPressure(g *topology.Graph, snap *schema.Snapshot) *pressure {
	return &pressure{graph: g, use: snap.Find(schema.BandwidthUsed), rate: snap.Find(schema.Throughput), inq: snap.Find(schema.InqStall), credit: snap.Find(schema.CreditStall)}
}

// nearFailure is a failure within the hops of a region: a row of the F table. All are anomalous (Monet,
// section 7).
type nearFailure struct {
	*failure
	silent *silent // what counters show of it, where no log does; else nil
	hops   int
	score  float64
	stall  float64 // around what failed, percent
	share  float64 // of the region that leads to it rather than to others that failed: of its links on a grid, else of its stall, percent
}

// fell reports whether counters leave no doubt that something died.
func (f *nearFailure) fell() bool { return f.silent != nil && f.silent.doubt == 0 }

// nearFailures lists the failures near the region that reach last searched from.
func (s *Stage) nearFailures(rc *regionCase, p *pressure) {
	rc.failures = rc.failures[:0]
	for i := range s.failures {
		s.addNear(rc, &s.failures[i], nil, p)
	}
	for i := range s.work.silent {
		c := &s.work.silent[i]
		switch {
		case c.logged:
		case c.fedBy >= 0: // as near as what it fed
			s.addNear(rc, &c.failure, &s.work.silent[c.fedBy], p)
		default:
			s.addNear(rc, &c.failure, c, p)
		}
	}
	slices.SortStableFunc(rc.failures, func(a, b nearFailure) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.stall, a.stall), cmp.Compare(b.Time, a.Time))
	})
}

// addNear adds a failure to those near a region, if it is near. What counters show and no log does is given as silent, and
// is as near as itself or as what it fed.
func (s *Stage) addNear(rc *regionCase, f *failure, c *silent, p *pressure) {
	hops := -1
	for _, d := range f.devices {
		if h := s.reach.hopsTo(d); h >= 0 && (hops < 0 || h < hops) {
			hops = h
		}
	}
	if hops < 0 {
		return
	}
	near := nearFailure{failure: f, silent: c, hops: hops, score: s.failureScore(rc, f, hops, p), stall: s.stallAround(rc, f, p)}
	if c == nil {
		rc.failures = append(rc.failures, near)
		return
	}
	near.failure = &c.failure
	near.score -= silentDoubt * c.doubt
	if i := slices.IndexFunc(rc.failures, func(o nearFailure) bool { return o.silent == c }); i < 0 {
		rc.failures = append(rc.failures, near)
	} else if near.score > rc.failures[i].score {
		rc.failures[i] = near
	}
}

// stallAround is the stall of what failed: of its own links where they are measured, a little of the others
// at its ends, and what it carried before.
func (s *Stage) stallAround(rc *regionCase, f *failure, p *pressure) float64 {
	sum := 0.
	for _, l := range f.links {
		sum += .2 * max(0, p.before(l))
	}
	for i, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		switch {
		case slices.Contains(f.links, l):
			sum += 3 * rc.weight[i]
		case slices.Contains(f.devices, from), slices.Contains(f.devices, to):
			sum += .1 * rc.weight[i]
		}
	}
	return sum
}

// verdict is what is decided of a region.
type verdict struct {
	class      schema.CauseClass
	confidence float64
	accused    int // of rc.jobs, the first so many
	blamed     int // of rc.failures
}

// decide weighs the causes against each other and against none of them being right.
func (s *Stage) decide(rc *regionCase, p *pressure) verdict {
	for i := range rc.jobs {
		s.rate(rc, &rc.jobs[i], p)
	}
	slow, lost := s.smooth(rc, s.slowHostScore(rc), s.slowLinkScore(rc))
	slices.SortFunc(rc.jobs, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.job.ID, b.job.ID), cmp.Compare(a.job.Start, b.job.Start))
	})
	sum := 1. // unknown
	for i := range rc.jobs {
		rc.jobs[i].blame = math.Exp(rc.jobs[i].score)
		sum += rc.jobs[i].blame
	}
	jobs, accused := 0., s.accused(rc)
	for i := range accused {
		jobs += rc.jobs[i].blame
	}
	failures := 0.
	for i := range rc.failures {
		failures = max(failures, math.Exp(rc.failures[i].score)) // of one event there are often several lines
	}
	host, link := math.Exp(slow), math.Exp(lost)
	sum += failures + host + link
	for i := range rc.jobs {
		rc.jobs[i].blame /= sum
	}
	v := verdict{class: schema.CauseUnknown, confidence: 1 / sum}
	switch most := max(jobs, failures, host, link); {
	case most < s.cfg.MinConfidence*sum || most <= 1:
		v.confidence = max(v.confidence, 1-most/sum)
	case most == jobs:
		v.accused = accused
		v.class, v.confidence = s.classOf(rc, accused, p), jobs/sum
	case most == link:
		v.class, v.confidence, v.blamed = schema.CauseFailure, link/sum, s.logged(rc, rc.slowLink())
	case most == failures:
		v.class, v.confidence, v.blamed = schema.CauseFailure, failures/sum, s.blamed(rc)
		slices.SortStableFunc(rc.failures[:v.blamed], func(a, b nearFailure) int { return cmp.Compare(b.share, a.share) })
		v.confidence *= rc.placeShare()
	default:
		v.class, v.confidence = schema.CauseSlowHost, host/sum
	}
	v.confidence = calibrated(v.confidence)
	return v
}

// The confidence in a verdict is logistic in its log odds, fitted on the training seeds of incidents (package
// bench): verdicts are right more often than the scores alone say.
const calibrationSlope, calibrationOffset = 1., .9

// mostConfident bounds it: of the verdicts with the most evidence one in a hundred is wrong even on the incidents of package
// bench.
const mostConfident = .99

func calibrated(p float64) float64 {
	p = min(.999, max(.001, p))
	return min(mostConfident, 1/(1+math.Exp(-calibrationOffset-calibrationSlope*math.Log(p/(1-p)))))
}

// blamed is how many of the failures near a region are listed: one event often has several lines.
func (s *Stage) blamed(rc *regionCase) int {
	n := 1
	for n < min(len(rc.failures), s.cfg.MaxListed) && rc.failures[n].score >= rc.failures[0].score-sameEvent && (rc.failures[n].silent == nil) == (rc.failures[0].silent == nil) {
		n++
	}
	return n
}

// placeShare is the probability that the likeliest failure is the place, where counters alone show it: of several cables that
// fell silent together one is dead, and the others may have lost what it fed them.
func (rc *regionCase) placeShare() float64 {
	c := rc.failures[0].silent
	if c == nil || c.unread {
		return 1
	}
	first, sum := &rc.failures[0], 0.
	for i := range rc.failures {
		o := &rc.failures[i]
		if o.silent == nil || !o.silent.fellWith(c) {
			continue
		}
		odds := math.Exp(o.score - first.score)
		if first.share > 0 {
			odds *= o.share / first.share
		}
		sum += odds
	}
	return silentPlace / max(1, sum)
}

// silentPlace is how often a cable that fell silent alone is the one that is dead: nearly always where routes change by
// themselves, three times in four on a fabric of fixed routes whose dead ports still answer, as what fed it may have carried
// too little in one direction to be missed.
const silentPlace = .85

// sameEvent is how much less the score of a failure may be than the first's to be of the same event.
const sameEvent = .75

// contends is how much less a job's score may be than the first's to share its blame.
const contends = 1.5

// accused is how many of the suspects share the blame.
func (s *Stage) accused(rc *regionCase) int {
	if len(rc.jobs) == 0 {
		return 0
	}
	n := 1
	for n < min(len(rc.jobs), 4) && rc.jobs[n].score > 0 && rc.jobs[n].score >= rc.jobs[0].score-contends {
		n++
	}
	return n
}

// onTheWay is the share of a region's stall on links that traffic of a job with the file system can take.
func (s *Stage) onTheWay(rc *regionCase, j *job) float64 {
	if s.router.grid == nil {
		return s.router.tree.onTheWay(s.leavesOf(j), rc.region.Links, rc.weight, rc.total)
	}
	return s.router.grid.onTheWay(s.routesOf(j), rc.region.Links, rc.weight, rc.total)
}

// leavesOf lists the switches of a job's nodes.
func (s *Stage) leavesOf(j *job) []topology.DeviceID {
	leaves := s.work.leaves[:0]
	for _, d := range j.devices {
		leaves = append(leaves, s.router.leafOf(d))
	}
	slices.Sort(leaves)
	s.work.leaves = slices.Compact(leaves)
	return s.work.leaves
}
