package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

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
	feature    history.Feature
	value      float64 // maximum of the feature over the window, bytes
	devs       float64 // of the value above the jobs' median
	share      float64 // this job's share of the region's traffic, as far as known
	growth     float64 // the same, of the load added since the onset
	root       bool    // its traffic uses the link where back pressure begins
	known      bool    // its traffic was measured
	file       bool    // its outlier is file system traffic
	filesKnown bool    // file system traffic was measured
	fetches    bool    // on a torus, that is RDMA reads from others than its nodes, of which the table does not know
	sends      float64 // score of its part of the time for which hosts wait to send
	exchanges  bool    // on a torus, if accused: load was added all over its exchange
	converges  float64 // on a torus, how surely the added load is what its nodes send to one switch, 0 to 1
	fit        float64 // of its tree, if it converges
	away       bool    // that switch is none of its own
	evidence
	score, blame float64
}

// crossing finds the regions that the traffic of each running job can cross: one pass over the routes of a
// job for all regions together.
func (in *interval) crossing(cases []regionCase) {
	w := &in.memberships
	w.index(cases)
	for _, j := range in.running {
		if len(j.Devices) == 0 {
			continue
		}
		set := in.routesOf(j)
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
func (rc *regionCase) near() {
	rc.reach.from(rc.region.Links, rc.cfg.Hops)
	rc.scratch.round++
	rc.scratch.around = rc.scratch.around[:0]
	for _, d := range rc.reach.queue { // nearest first
		for _, j := range rc.tenants[d] {
			if j.round != rc.scratch.round {
				j.round, j.hops = rc.scratch.round, rc.reach.at[d].hops
				rc.scratch.around = append(rc.scratch.around, j)
			}
		}
	}
	crossing := len(rc.jobs)
	for i := range rc.jobs {
		c := &rc.jobs[i]
		c.root = rc.back.HasRoot() && rc.isAt(c.job, rc.back.Root.Link)
		if c.job.round == rc.scratch.round {
			c.hops = int(c.job.hops)
			c.job.round = 0
		}
	}
	for _, j := range rc.nearest() {
		rc.jobs = append(rc.jobs, suspect{job: j, hops: int(j.hops), root: rc.back.HasRoot() && rc.isAt(j, rc.back.Root.Link)})
	}
	for _, j := range rc.readers {
		if !slices.ContainsFunc(rc.jobs, func(c suspect) bool { return c.job == j }) { // beyond the hops, or the nearest
			rc.jobs = append(rc.jobs, suspect{job: j, hops: -1})
		}
	}
	slices.SortFunc(rc.jobs[crossing:], func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.job.order, b.job.order))
	})
	rc.dropFarthest(rc)
}

// maxReaders bounds the jobs that are candidates wherever they run, because of their file traffic.
const maxReaders = 3

// findReaders lists the jobs whose file traffic is an outlier in the whole fabric: the path to the storage
// nodes may exceed any number of hops.
func (in *interval) findReaders() {
	in.readers, in.scratch.values = in.readers[:0], in.scratch.values[:0]
	for _, j := range in.running {
		_, files := in.lately(j)
		in.scratch.values = append(in.scratch.values, files)
		j.files = files
	}
	usual := spreadOf(in.scratch.values, leastScale)
	for _, j := range in.running {
		if j.files > 0 && usual.deviations(j.files) > in.cfg.Deviations {
			in.readers = append(in.readers, j)
		}
	}
	slices.SortFunc(in.readers, func(a, b *job) int { return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.ID, b.ID)) })
	in.readers = in.readers[:min(maxReaders, len(in.readers))]
}

// isAt reports whether a job's traffic uses a link, within the job or at its border.
func (in *interval) isAt(j *job, l schema.LinkID) bool {
	r := in.routesOf(j)
	if _, found := slices.BinarySearch(r.Gates, l); found {
		return true
	}
	return r.On(l) > 0
}

// maxSuspects bounds the suspects of a region; those with the least traffic across it are dropped, except readers, whose paths to
// storage nodes are not known.
const maxSuspects = 32

// nearest returns the maxSuspects nearest jobs around a region that do not cross it, nearest first.
func (in *interval) nearest() []*job {
	near := in.scratch.nearby[:0]
	for _, j := range in.scratch.around {
		if j.round != in.scratch.round {
			continue
		}
		at, _ := slices.BinarySearchFunc(near, j, func(a, b *job) int { return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.order, b.order)) })
		if at == maxSuspects {
			continue
		}
		near = slices.Insert(near[:min(len(near), maxSuspects-1)], at, j)
	}
	in.scratch.nearby = near
	return near
}

func (in *interval) dropFarthest(rc *regionCase) {
	if len(rc.jobs) <= maxSuspects {
		return
	}
	traffic := func(c *suspect) float64 {
		if slices.Contains(in.readers, c.job) {
			return math.Inf(1)
		}
		return c.cross + c.gate
	}
	slices.SortStableFunc(rc.jobs, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(traffic(&b), traffic(&a)), cmp.Compare(a.hops, b.hops))
	})
	rc.jobs = rc.jobs[:maxSuspects]
}

// measure fills in the A table's numbers: maxima, outliers and evidence.
func (rc *regionCase) measure() {
	rc.scratch.correlator.SetLags(rc.cfg.MaxLag)
	rc.scratch.correlator.SetStall(rc.stall)
	var usual [history.NumMeasured]spread
	for f := range history.NumMeasured {
		usual[f] = rc.usual(f)
	}
	for i := range rc.jobs {
		if c := &rc.jobs[i]; max(c.cross, c.gate) < clearWay {
			c.way = rc.onTheWay(c.job)
		}
	}
	rc.shareTraffic()
	rc.findWaits()
	for i := range rc.jobs {
		rc.findStrongestFeature(&rc.jobs[i], &usual)
	}
}

// usual returns the spread of a feature's maxima over the jobs of the A table or, if these are few, over all
// running jobs.
func (rc *regionCase) usual(f history.Feature) spread {
	values := rc.scratch.values[:0]
	for i := range rc.jobs {
		if v, known := rc.maximum(rc.jobs[i].job, f); known {
			values = append(values, v)
		}
	}
	rc.scratch.values = values
	if len(values) < fewJobs {
		return rc.usualOfAll(f)
	}
	return spreadOf(values, leastScale)
}

// usualOfAll is the same over all running jobs, computed once per interval.
func (in *interval) usualOfAll(f history.Feature) spread {
	if of := &in.usualOf[f]; !of.known {
		values := in.scratch.values[:0]
		for _, j := range in.running {
			if v, known := in.maximum(j, f); known {
				values = append(values, v)
			}
		}
		in.scratch.values, *of = values, usualSpread{true, spreadOf(values, leastScale)}
	}
	return in.usualOf[f].spread
}

// usualSpread is the spread of a feature in an interval.
type usualSpread struct {
	known bool
	spread
}

// maximum returns the maximum of a feature over the window.
func (in *interval) maximum(j *job, f history.Feature) (most float64, known bool) {
	if j.Traffic == nil {
		return 0, false
	}
	m := &j.maxima
	if j.maximal {
		return m[f], m[f] >= 0
	}
	j.maximal = true
	for f := range history.NumFeatures {
		m[f] = -1
		for slot := in.history.Clock.Now - int64(in.cfg.Window) + 1; slot <= in.history.Clock.Now; slot++ {
			if v := j.Traffic.At(f, slot); !history.IsMissing(v) {
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

// findStrongestFeature finds the feature of a suspect with the strongest evidence.
func (rc *regionCase) findStrongestFeature(c *suspect, usual *[history.NumMeasured]spread) {
	c.P = 1
	c.started = rc.startedAt(c.job.Start)
	if most := c.mostScore(); most < -jobReads || most < 0 && !rc.mayFetch(c) {
		_, c.known = rc.maximum(c.job, history.RDMARead)
		c.known = c.known && !rc.measuresFilesOnly(c.job)
		return
	}
	best, first := math.Inf(-1), history.Read
	if rc.hasNegligibleFiles(c.job) {
		first = history.RDMARead
	}
	var strengths [history.NumFeatures]float64
	for f := first; f <= history.RDMAWrite; f++ { // later features are estimates, and congestion itself changes them
		value, known := rc.maximum(c.job, f)
		if !known {
			continue
		}
		c.known = true
		x := rc.laggedOf(c.job, f)
		e := evidence{Result: rc.scratch.correlator.Correlate(&x.Series), started: c.started}
		onset := -1
		if rc.onset >= 0 {
			onset = len(x.Raw) - len(rc.stall) + rc.onset
		}
		e.rise = rc.riseAt(x, onset, .02*usual[f].median)
		devs := usual[f].deviations(value)
		strength := e.strength() + outlying(devs)
		if f >= history.RDMARead {
			strength += preferred
		}
		strengths[f] = e.strength()
		if strength > best {
			best, c.feature, c.value, c.devs, c.evidence = strength, f, value, devs, e
		}
	}
	if best > 0 {
		rc.scratch.correlator.Assess(&rc.laggedOf(c.job, c.feature).Series, &c.Result)
	}
	_, reads := rc.maximum(c.job, history.Read)
	_, writes := rc.maximum(c.job, history.Write)
	c.filesKnown = reads && writes
	for f := first; f <= history.Write && c.known; f++ {
		value, _ := rc.maximum(c.job, f)
		c.file = c.file || strengths[f] >= max(fileShare*strengths[c.feature], fileLeast) && value >= fileBytes*c.value
	}
	switch {
	case rc.fetches(c):
		c.fetches, c.file, c.filesKnown = true, true, false
	case !c.file && rc.fillsByFiles(c):
		c.file, c.feature = true, history.Write
		c.value, _ = rc.maximum(c.job, history.Write)
	}
	if !c.file && rc.measuresFilesOnly(c.job) { // files that cause nothing say nothing about its exchange
		c.known, c.value, c.devs, c.evidence = false, 0, 0, evidence{Result: correlation.Result{P: 1}, started: c.started}
	}
}

// measuresFilesOnly reports whether a job has file traffic in the traffic table, and no other, and no link shows the traffic of its nodes,
// as on a grid or where no load is read: what they exchange is unknown.
func (in *interval) measuresFilesOnly(j *job) bool {
	if j.Traffic == nil || in.loads && !in.graph.Duplex() {
		return false
	}
	listed := &j.Traffic.Listed
	return (listed[history.Read] || listed[history.Write]) && !listed[history.RDMARead] && !listed[history.RDMAWrite]
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
func (in *interval) laggedOf(j *job, f history.Feature) *lagged {
	if j.lagged[f] != nil {
		return j.lagged[f]
	}
	if in.scratch.laggedUsed == len(in.scratch.lagged) {
		in.scratch.lagged = append(in.scratch.lagged, new(lagged))
	}
	x := in.scratch.lagged[in.scratch.laggedUsed]
	in.scratch.laggedUsed++
	j.lagged[f] = x
	x.Raw = x.Raw[:0]
	length := min(int64(in.history.TrafficLength()), in.history.Clock.Now-in.history.Clock.First+1)
	for slot := in.history.Clock.Now - length + 1; slot <= in.history.Clock.Now; slot++ {
		v := j.Traffic.At(f, slot)
		switch {
		case !history.IsMissing(v):
			x.Raw = append(x.Raw, float64(v))
		case (slot+1)*in.history.Clock.Duration <= int64(j.Start):
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
func (rc *regionCase) onTheWay(j *job) float64 {
	return rc.router.OnTheWay(rc.routesOf(j), rc.region.Links, rc.weight) / rc.total
}
