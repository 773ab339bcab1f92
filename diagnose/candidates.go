package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// regionCase is a region under diagnosis, with what is known of it before any job is accused.
type regionCase struct {
	region   *schema.Region
	stall    []float64 // mean over its links by slot, the last one now
	weight   []float64 // by link of the region: its stall now, or 1e-3 if unknown
	total    float64   // sum of weight
	waits    []float64 // by link of the region: the share of time that it stalls, 0 if unknown
	added    []float64 // by link of the region: load added since the onset; empty until needed
	onset    int       // index into stall; -1: unknown
	again    int       // the same, or the end of the last pause since
	old      bool      // it began before the remembered intervals
	cut      bool      // its stall is cut to the first of two steps
	jobs     []suspect
	failures []nearFailure // most likely first
	back     root.BackPressure
	drain    root.Drain
	sender   *job // its nodes send what converges on the drain; nil: unknown
	neck     root.Neck
	endings  root.Endings     // on a grid
	nodes    *topology.Device // on a grid, the switch at whose nodes back pressure ends, if it ends at nodes; nil: unknown
	full     schema.LinkID    // on a grid, the full link that most traffic waits for; NoLink: unknown
	load     float64          // load of its links relative to before the onset; 0: unknown
	arrives  float64          // load of the links where its traffic ends, relative to before the onset; 0: unknown
	flooded  bool             // on a grid, load was added where the region's traffic ends, even if the mean load fell
	fullest  schema.LinkID    // the root, or the fullest link without a root; NoLink: unknown
	carries  float64          // load of fullest, bytes/s; 0: unknown
	more     float64          // increase of carries since the onset; 0: none or unknown
	empty    float64          // on a grid, its share of switches without a listed job, beyond that of the grid
	starved  float64          // on a grid, 0 to 1: how far the node where its traffic ends gets less than its share of its job's exchange
	moved    float64          // share of more that failed links beside it carried before
	waiting  bool             // no load is measured, and hosts are seen to wait to send into it
	vacant   float64          // the part of hosts of no listed job in that, in the unit of waits
	unlisted float64          // blame of hosts of no listed job, in odds against an unknown cause
	verdict  verdict          // set once decided
}

// suspect is a job near a region or with traffic across it: a row of the A table.
type suspect struct {
	job        *job
	hops       int     // of its nearest node; -1: beyond the searched radius
	cross      float64 // share of the region's stall on links that its own exchange uses
	gate       float64 // the same, on links at its border
	way        float64 // the same, on links between it and other nodes; a link that fits many jobs counts less
	load       float64 // of its exchange on the region's links, as a multiple of what it sends
	waits      float64 // load weighted by the share of time that each link stalls
	worst      float64 // the highest share of time that one of these links stalls
	feature    feature
	value      float64 // maximum of the feature over the window, bytes
	devs       float64 // of the value above the jobs' median
	burden     float64 // this job's share of the region's traffic, as far as known
	growth     float64 // the same, of the load added since the onset
	root       bool    // its traffic uses the link where back pressure begins
	known      bool    // its traffic was measured
	file       bool    // its outlier is file system traffic
	filesKnown bool    // file system traffic was measured
	fetches    bool    // on a torus, that is RDMA reads from others than its nodes, of which the table does not know
	sends      float64 // score of its part of the time for which hosts wait to send
	exchanges  bool    // on a torus, if accused: load was added all over its exchange
	evidence
	score, blame float64
}

// crossing finds the regions that the traffic of each running job can cross: one pass over the routes of a
// job for all regions together.
func (s *Stage) crossing(cases []regionCase) {
	w := &s.work
	w.index(cases)
	for _, j := range w.running {
		if len(j.devices) == 0 {
			continue
		}
		set := s.routesOf(j)
		w.begin(len(cases))
		for i, l := range set.Links {
			for _, at := range w.of(l) {
				t := w.touch(at.cas)
				t.cross += at.weight
				load := float64(set.Load[i])
				t.load += load
				t.waits += load * at.waits
				t.worst = max(t.worst, at.waits)
			}
		}
		for _, l := range set.Gates {
			for _, at := range w.of(l) {
				w.touch(at.cas).gate += at.weight
			}
		}
		for _, c := range w.touched {
			t, rc := &w.sums[c], &cases[c]
			rc.jobs = append(rc.jobs, suspect{job: j, hops: -1, cross: t.cross / rc.total, gate: t.gate / rc.total, load: t.load, waits: t.waits, worst: t.worst})
		}
	}
}

// near adds the jobs within cfg.Hops that do not cross the region, and the distance of those that do.
func (s *Stage) near(rc *regionCase) {
	s.reach.from(rc.region.Links, s.cfg.Hops)
	s.work.round++
	s.work.around = s.work.around[:0]
	for _, d := range s.reach.queue { // nearest first
		for _, j := range s.work.tenants[d] {
			if j.round != s.work.round {
				j.round, j.hops = s.work.round, s.reach.at[d].hops
				s.work.around = append(s.work.around, j)
			}
		}
	}
	crossing := len(rc.jobs)
	for i := range rc.jobs {
		c := &rc.jobs[i]
		c.root = rc.back.Kind != "" && s.isAt(c.job, rc.back.Link)
		if c.job.round == s.work.round {
			c.hops = int(c.job.hops)
			c.job.round = 0
		}
	}
	for _, j := range s.work.nearest() {
		rc.jobs = append(rc.jobs, suspect{job: j, hops: int(j.hops), root: rc.back.Kind != "" && s.isAt(j, rc.back.Link)})
	}
	for _, j := range s.work.readers {
		if j.round != s.work.round && !slices.ContainsFunc(rc.jobs, func(c suspect) bool { return c.job == j }) {
			rc.jobs = append(rc.jobs, suspect{job: j, hops: -1})
		}
	}
	slices.SortFunc(rc.jobs[crossing:], func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.job.order, b.job.order))
	})
	s.work.dropFarthest(rc)
}

// maxReaders bounds the jobs that are candidates wherever they run, because of their file traffic.
const maxReaders = 3

// findReaders lists the jobs whose file traffic is an outlier in the whole fabric: the path to the storage
// nodes may exceed any number of hops.
func (s *Stage) findReaders() {
	w := &s.work
	w.readers, w.values = w.readers[:0], w.values[:0]
	for _, j := range w.running {
		_, files := s.lately(j)
		w.values = append(w.values, files)
		j.files = files
	}
	usual := spreadOf(w.values, leastScale)
	for _, j := range w.running {
		if j.files > 0 && usual.deviations(j.files) > s.cfg.Deviations {
			w.readers = append(w.readers, j)
		}
	}
	slices.SortFunc(w.readers, func(a, b *job) int { return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.ID, b.ID)) })
	w.readers = w.readers[:min(maxReaders, len(w.readers))]
}

// isAt reports whether a job's traffic uses a link, within the job or at its border.
func (s *Stage) isAt(j *job, l schema.LinkID) bool {
	r := s.routesOf(j)
	if _, found := slices.BinarySearch(r.Gates, l); found {
		return true
	}
	return r.On(l) > 0
}

// maxSuspects bounds the suspects of a region; those with the least traffic across it are dropped.
const maxSuspects = 32

// nearest returns the maxSuspects nearest jobs around a region that do not cross it, nearest first.
func (w *work) nearest() []*job {
	near := w.near[:0]
	for _, j := range w.around {
		if j.round != w.round {
			continue
		}
		at, _ := slices.BinarySearchFunc(near, j, func(a, b *job) int { return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.order, b.order)) })
		if at == maxSuspects {
			continue
		}
		near = slices.Insert(near[:min(len(near), maxSuspects-1)], at, j)
	}
	w.near = near
	return near
}

func (w *work) dropFarthest(rc *regionCase) {
	if len(rc.jobs) <= maxSuspects {
		return
	}
	slices.SortStableFunc(rc.jobs, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.cross+b.gate, a.cross+a.gate), cmp.Compare(a.hops, b.hops))
	})
	rc.jobs = rc.jobs[:maxSuspects]
}

// measure fills in the A table's numbers: maxima, outliers and evidence.
func (s *Stage) measure(rc *regionCase, p *root.Pressure) {
	w := &s.work
	w.correlator.SetLags(s.cfg.MaxLag)
	w.correlator.SetStall(rc.stall)
	var usual [numMeasured]spread
	for f := range numMeasured {
		usual[f] = s.usual(rc, f)
	}
	for i := range rc.jobs {
		if c := &rc.jobs[i]; max(c.cross, c.gate) < clearWay {
			c.way = s.onTheWay(rc, c.job)
		}
	}
	s.burdens(rc, p)
	s.findWaits(rc)
	for i := range rc.jobs {
		s.testify(rc, &rc.jobs[i], &usual)
	}
}

// usual returns the spread of a feature's maxima over the jobs of the A table or, if these are few, over all
// running jobs.
func (s *Stage) usual(rc *regionCase, f feature) spread {
	values := s.work.values[:0]
	for i := range rc.jobs {
		if v, known := s.maximum(rc.jobs[i].job, f); known {
			values = append(values, v)
		}
	}
	s.work.values = values
	if len(values) < fewJobs {
		return s.usualOfAll(f)
	}
	return spreadOf(values, leastScale)
}

// usualOfAll is the same over all running jobs, computed once per interval.
func (s *Stage) usualOfAll(f feature) spread {
	w := &s.work
	if of := &w.usual[f]; of.interval != w.interval {
		values := w.values[:0]
		for _, j := range w.running {
			if v, known := s.maximum(j, f); known {
				values = append(values, v)
			}
		}
		w.values, *of = values, usualSpread{w.interval, spreadOf(values, leastScale)}
	}
	return w.usual[f].spread
}

// usualSpread is the spread of a feature in an interval.
type usualSpread struct {
	interval uint32
	spread
}

// maximum returns the maximum of a feature over the window.
func (s *Stage) maximum(j *job, f feature) (most float64, known bool) {
	if j.traffic == nil {
		return 0, false
	}
	m := &j.maxima
	if j.interval == s.work.interval {
		return m[f], m[f] >= 0
	}
	j.interval = s.work.interval
	for f := range numFeatures {
		m[f] = -1
		for slot := s.clock.now - int64(s.cfg.Window) + 1; slot <= s.clock.now; slot++ {
			if v := j.traffic.at(f, slot); !isMissing(v) {
				m[f] = max(m[f], float64(v))
			}
		}
	}
	return m[f], m[f] >= 0
}

// clearWay is the share on a job's own links from which on other paths do not matter.
const clearWay = .6

// preferred is the bonus of RDMA over the file traffic that it carries, to break ties.
const preferred = .05

// testify finds the feature of a suspect with the strongest evidence.
func (s *Stage) testify(rc *regionCase, c *suspect, usual *[numMeasured]spread) {
	c.P = 1
	c.started = s.startedAt(rc, c.job)
	if most := c.mostScore(); most < -jobReads || most < 0 && !s.mayFetch(rc, c) {
		_, c.known = s.maximum(c.job, rdmaRead)
		return
	}
	best, first := math.Inf(-1), read
	if s.filesAreTrifles(rc, c.job) {
		first = rdmaRead
	}
	var strengths [numFeatures]float64
	for f := first; f <= rdmaWrite; f++ { // later features are estimates, and congestion itself changes them
		value, known := s.maximum(c.job, f)
		if !known {
			continue
		}
		c.known = true
		x := s.laggedOf(c.job, f)
		e := evidence{Result: s.work.correlator.Correlate(&x.Series), started: c.started}
		onset := -1
		if rc.onset >= 0 {
			onset = len(x.Raw) - len(rc.stall) + rc.onset
		}
		e.rise = s.work.riseAt(x, onset, .02*usual[f].median)
		devs := usual[f].deviations(value)
		strength := e.strength() + outlying(devs)
		if f >= rdmaRead {
			strength += preferred
		}
		strengths[f] = e.strength()
		if strength > best {
			best, c.feature, c.value, c.devs, c.evidence = strength, f, value, devs, e
		}
	}
	if best > 0 {
		s.work.correlator.Assess(&s.laggedOf(c.job, c.feature).Series, &c.Result)
	}
	_, reads := s.maximum(c.job, read)
	_, writes := s.maximum(c.job, write)
	c.filesKnown = reads && writes
	for f := first; f <= write && c.known; f++ {
		value, _ := s.maximum(c.job, f)
		c.file = c.file || strengths[f] >= max(fileShare*strengths[c.feature], fileLeast) && value >= fileBytes*c.value
	}
	if s.fetches(rc, c) {
		c.fetches, c.file, c.filesKnown = true, true, false
	}
}

// File system traffic is the outlier if its evidence by time is nearly as strong as that of all traffic,
// which contains it, and it is no small part.
const fileShare, fileLeast, fileBytes = .8, .5, .3

// strength of the evidence by time, 0 to 2.
func (e *evidence) strength() float64 { return e.Fit() + e.rise }

// outlying is the evidence of deviations, 0 to 1.
func outlying(devs float64) float64 {
	if devs <= 1 {
		return 0
	}
	return min(1, math.Log(devs)/math.Log(30))
}

// laggedOf returns a job's feature by slot, computed once per interval. Slots before the job began count as 0, not as
// missing.
func (s *Stage) laggedOf(j *job, f feature) *lagged {
	w := &s.work
	if j.laggedIn != w.interval {
		j.laggedIn, j.lagged = w.interval, [numMeasured]*lagged{}
	}
	if j.lagged[f] != nil {
		return j.lagged[f]
	}
	if w.laggedUsed == len(w.lagged) {
		w.lagged = append(w.lagged, new(lagged))
	}
	x := w.lagged[w.laggedUsed]
	w.laggedUsed++
	j.lagged[f] = x
	x.Raw = x.Raw[:0]
	length := min(int64(s.trafficLength()), s.clock.now-s.clock.first+1)
	for slot := s.clock.now - length + 1; slot <= s.clock.now; slot++ {
		v := j.traffic.at(f, slot)
		switch {
		case !isMissing(v):
			x.Raw = append(x.Raw, float64(v))
		case (slot+1)*s.clock.duration <= int64(j.Start):
			x.Raw = append(x.Raw, 0)
		default:
			x.Raw = append(x.Raw, math.NaN())
		}
	}
	x.Prepare()
	x.last.onset = -1
	return x
}

// onTheWay is the share of a region's stall on links that file system traffic of a job can take.
func (s *Stage) onTheWay(rc *regionCase, j *job) float64 {
	return s.router.OnTheWay(s.routesOf(j), rc.region.Links, rc.weight) / rc.total
}
