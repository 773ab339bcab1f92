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
	job          *job
	hops         int     // of its nearest node, or beyondHops
	cross        float64 // share of the region's stall on links that its own exchange uses
	gate         float64 // the same, on links at its border
	way          float64 // the same, on links between it and other nodes; a link that fits many jobs counts less
	linksPerByte float64 // of its exchange on the region's links, as a multiple of what it sends
	waitPerByte  float64 // load weighted by the share of time that each link stalls
	worstStall   float64 // the highest share of time that one of these links stalls
	feature      history.Feature
	value        float64 // maximum of the feature over the window, bytes
	devs         float64 // of the value above the jobs' median
	share        float64 // this job's share of the region's traffic, as far as known
	growth       float64 // the same, of the load added since the onset
	atRoot       bool    // its traffic uses the link where back pressure begins
	known        bool    // its traffic was measured
	file         bool    // its outlier is file system traffic
	filesKnown   bool    // file system traffic was measured
	fetches      bool    // on a torus, that is RDMA reads from others than its nodes, of which the table does not know
	sends        float64 // score of its part of the time for which hosts wait to send
	exchanges    bool    // on a torus, if accused: load was added all over its exchange
	converges    float64 // on a torus, how surely the added load is what its nodes send to one switch, 0 to 1
	fit          float64 // of its tree, if it converges
	away         bool    // that switch is none of its own
	evidence     evidence
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
			rc.suspects = append(rc.suspects, suspect{job: j, hops: beyondHops, cross: t.cross / rc.totalWeight,
				gate: t.gate / rc.totalWeight, linksPerByte: t.load, waitPerByte: t.waits, worstStall: t.worst})
		}
	}
}

// near adds the jobs within cfg.Hops that do not cross the region, and the distance of those that do.
func (rc *regionCase) near() {
	rc.in.reach.from(rc.region.Links, rc.in.cfg.Hops)
	rc.in.scratch.round++
	rc.in.scratch.around = rc.in.scratch.around[:0]
	for _, d := range rc.in.reach.queue { // nearest first
		for _, j := range rc.in.tenants[d] {
			if j.round != rc.in.scratch.round {
				j.round, j.hops = rc.in.scratch.round, rc.in.reach.at[d].hops
				rc.in.scratch.around = append(rc.in.scratch.around, j)
			}
		}
	}
	crossing := len(rc.suspects)
	for i := range rc.suspects {
		c := &rc.suspects[i]
		c.atRoot = rc.back.HasRoot() && rc.in.isAt(c.job, rc.back.Root.Link)
		if c.job.round == rc.in.scratch.round {
			c.hops = int(c.job.hops)
			c.job.round = 0
		}
	}
	for _, j := range rc.in.nearest() {
		atRoot := rc.back.HasRoot() && rc.in.isAt(j, rc.back.Root.Link)
		rc.suspects = append(rc.suspects, suspect{job: j, hops: int(j.hops), atRoot: atRoot})
	}
	for _, j := range rc.in.readers {
		// beyond the hops, or the nearest
		if !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == j }) {
			rc.suspects = append(rc.suspects, suspect{job: j, hops: beyondHops})
		}
	}
	slices.SortFunc(rc.suspects[crossing:], func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.job.order, b.job.order))
	})
	rc.in.dropFarthest(rc)
}

// maxReaders bounds the jobs that are candidates wherever they run, because of their file traffic.
const maxReaders = 3

// findReaders lists the jobs whose file traffic is an outlier in the whole fabric: the path to the storage
// nodes may exceed any number of hops.
func (in *interval) findReaders() {
	in.readers, in.scratch.values = in.readers[:0], in.scratch.values[:0]
	for _, j := range in.running {
		_, files := in.recentOf(j)
		in.scratch.values = append(in.scratch.values, files)
		j.files = files
	}
	usual := spreadOf(in.scratch.values, leastScale)
	for _, j := range in.running {
		if j.files > 0 && usual.deviations(j.files) > in.cfg.Deviations {
			in.readers = append(in.readers, j)
		}
	}
	slices.SortFunc(in.readers, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.ID, b.ID))
	})
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

// maxSuspects bounds the suspects of a region; those with the least traffic across it are dropped, except readers,
// whose paths to storage nodes are not known.
const maxSuspects = 32

// nearest returns the maxSuspects nearest jobs around a region that do not cross it, nearest first.
func (in *interval) nearest() []*job {
	near := in.scratch.nearby[:0]
	for _, j := range in.scratch.around {
		if j.round != in.scratch.round {
			continue
		}
		at, _ := slices.BinarySearchFunc(near, j, func(a, b *job) int {
			return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.order, b.order))
		})
		if at == maxSuspects {
			continue
		}
		near = slices.Insert(near[:min(len(near), maxSuspects-1)], at, j)
	}
	in.scratch.nearby = near
	return near
}

func (in *interval) dropFarthest(rc *regionCase) {
	if len(rc.suspects) <= maxSuspects {
		return
	}
	traffic := func(c *suspect) float64 {
		if slices.Contains(in.readers, c.job) {
			return math.Inf(1)
		}
		return c.cross + c.gate
	}
	slices.SortStableFunc(rc.suspects, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(traffic(&b), traffic(&a)), cmp.Compare(a.hops, b.hops))
	})
	rc.suspects = rc.suspects[:maxSuspects]
}

// measure fills in the A table's numbers: maxima, outliers and evidence.
func (rc *regionCase) measure() {
	rc.in.scratch.correlator.SetLags(rc.in.cfg.MaxLag)
	rc.in.scratch.correlator.SetStall(rc.timeline.stall)
	var usual [history.NumMeasured]spread
	for f := range history.NumMeasured {
		usual[f] = rc.usual(f)
	}
	for i := range rc.suspects {
		if c := &rc.suspects[i]; max(c.cross, c.gate) < clearWay {
			c.way = rc.onTheWay(c.job)
		}
	}
	rc.shareTraffic()
	rc.ground().findWaits()
	for i := range rc.suspects {
		rc.findStrongestFeature(&rc.suspects[i], &usual)
	}
}

// usual returns the spread of a feature's maxima over the jobs of the A table or, if these are few, over all
// running jobs.
func (rc *regionCase) usual(f history.Feature) spread {
	values := rc.in.scratch.values[:0]
	for i := range rc.suspects {
		if v, known := rc.in.maximum(rc.suspects[i].job, f); known {
			values = append(values, v)
		}
	}
	rc.in.scratch.values = values
	if len(values) < fewJobs {
		return rc.in.usualOfAll(f)
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
	c.evidence.P = 1
	c.evidence.started = rc.timeline.startedAt(c.job.Start)
	if most := c.mostScore(); most < -jobReads || most < 0 && !rc.ground().mayFetch(c) {
		_, c.known = rc.in.maximum(c.job, history.RDMARead)
		c.known = c.known && !rc.in.measuresFilesOnly(c.job)
		return
	}
	best, first := math.Inf(-1), history.Read
	if rc.hasNegligibleFiles(c.job) {
		first = history.RDMARead
	}
	var strengths [history.NumFeatures]float64
	for f := first; f <= history.RDMAWrite; f++ { // later features are estimates, and congestion itself changes them
		value, known := rc.in.maximum(c.job, f)
		if !known {
			continue
		}
		c.known = true
		x := rc.in.laggedOf(c.job, f)
		e := evidence{Result: rc.in.scratch.correlator.Correlate(&x.Series), started: c.evidence.started}
		onset := noOnset
		if rc.timeline.hasOnset() {
			onset = len(x.Raw) - len(rc.timeline.stall) + rc.timeline.onset
		}
		e.rise = rc.in.riseAt(x, onset, .02*usual[f].median)
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
		rc.in.scratch.correlator.Assess(&rc.in.laggedOf(c.job, c.feature).Series, &c.evidence.Result)
	}
	_, reads := rc.in.maximum(c.job, history.Read)
	_, writes := rc.in.maximum(c.job, history.Write)
	c.filesKnown = reads && writes
	for f := first; f <= history.Write && c.known; f++ {
		value, _ := rc.in.maximum(c.job, f)
		c.file = c.file || strengths[f] >= max(fileShare*strengths[c.feature], fileLeast) && value >= fileBytes*c.value
	}
	switch {
	case rc.fetches(c):
		c.fetches, c.file, c.filesKnown = true, true, false
	case !c.file && rc.fillsByFiles(c):
		c.file, c.feature = true, history.Write
		c.value, _ = rc.in.maximum(c.job, history.Write)
	}
	if !c.file && rc.in.measuresFilesOnly(c.job) { // files that cause nothing say nothing about its exchange
		c.known, c.value, c.devs, c.evidence = false, 0, 0, evidence{Result: correlation.Result{P: 1},
			started: c.evidence.started}
	}
}

// measuresFilesOnly reports whether a job has file traffic in the traffic table, and no other, and no link shows the
// traffic of its nodes, as on a grid or where no load is read: what they exchange is unknown.
func (in *interval) measuresFilesOnly(j *job) bool {
	if j.Traffic == nil || in.measuresLoad && !in.graph.Duplex() {
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
	x.last.onset = noOnset
	return x
}

// onTheWay is the share of a region's stall on links that file system traffic of a job can take.
func (rc *regionCase) onTheWay(j *job) float64 {
	return rc.in.router.OnTheWay(rc.in.routesOf(j), rc.region.Links, rc.weight) / rc.totalWeight
}
