package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
)

// evidence is how a feature and the stall of a region agree in time.
type evidence struct {
	correlation.Result
	rise    float64 // at the onset: 0 none, 1 far above its earlier values
	started bool    // the job itself began at the onset
}

// measureSuspects fills in the A table's numbers: maxima, outliers and evidence.
func (rc *regionCase) measureSuspects() {
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
	rc.rules().findWaits()
	for i := range rc.suspects {
		rc.findEvidence(&rc.suspects[i], &usual)
	}
}

// clearWay is the share on a job's own links from which on other paths do not matter.
const clearWay = .6

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

// preferred is the bonus of RDMA over the file traffic that it carries, to break ties.
const preferred = .05

// findEvidence finds the evidence by time on a suspect: its feature with the strongest, and whether that is file
// traffic.
func (rc *regionCase) findEvidence(c *suspect, usual *[history.NumMeasured]spread) {
	c.evidence.P = 1
	c.evidence.started = rc.timeline.startedAt(c.job.Start)
	if most := c.mostScore(); most < -jobReads || most < 0 && !rc.mayFetch(c) {
		_, c.known = rc.in.maximum(c.job, history.RDMARead)
		c.known = c.known && !rc.in.measuresFilesOnly(c.job)
		return
	}
	first := history.Read
	if rc.hasNegligibleFiles(c.job) || rc.fillsItself(c) {
		first = history.RDMARead
	}
	strengths := rc.findStrongestFeature(c, first, usual)
	_, reads := rc.in.maximum(c.job, history.Read)
	_, writes := rc.in.maximum(c.job, history.Write)
	c.filesKnown = reads && writes
	for f := first; f <= history.Write; f++ {
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

// findStrongestFeature finds the feature of a suspect with the strongest evidence, from a first one on, and returns the
// strength of each.
func (rc *regionCase) findStrongestFeature(c *suspect, first history.Feature, usual *[history.NumMeasured]spread,
) (strengths [history.NumFeatures]float64) {
	best := math.Inf(-1)
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
		strengths[f] = e.strength()
		strength := strengths[f] + outlying(devs)
		if f >= history.RDMARead {
			strength += preferred
		}
		if strength > best {
			best, c.feature, c.value, c.devs, c.evidence = strength, f, value, devs, e
		}
	}
	if best > 0 {
		rc.in.scratch.correlator.Assess(&rc.in.laggedOf(c.job, c.feature).Series, &c.evidence.Result)
	}
	return strengths
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

// change describes a series around an onset. It is the same for all regions that began together.
type change struct {
	onset    int    // index into the series
	baseline spread // before
	top      float64
	known    bool // there are values before and after
}

// lagged is a feature of a job by slot, the same for all regions of an interval.
type lagged struct {
	correlation.Series
	last change // the latest one computed
}

// changeAt returns the change of a series at an onset.
func (in *interval) changeAt(x []float64, onset int) change {
	baseline, since := in.scratch.baseline[:0], in.scratch.since[:0]
	for i := max(0, onset-settle-baselineSlots); i < onset-settle; i++ {
		if !math.IsNaN(x[i]) {
			baseline = append(baseline, x[i])
		}
	}
	for i := max(0, onset-settle+1); i <= min(len(x)-1, onset+settle); i++ {
		if !math.IsNaN(x[i]) {
			since = append(since, x[i])
		}
	}
	in.scratch.baseline, in.scratch.since = baseline, since
	if len(baseline) == 0 || len(since) == 0 {
		return change{onset: onset}
	}
	return change{onset, spreadOf(baseline, leastChange), slices.Max(since), true}
}

// riseAt is how far a series rises at an onset (an index) above its usual values, on a log scale: 0 up to 2
// deviations, 1 from 20. floor is added to the deviation.
func (in *interval) riseAt(x *lagged, onset int, floor float64) float64 {
	if onset < 0 || onset >= len(x.Raw) {
		return 0
	}
	if x.last.onset != onset {
		x.last = in.changeAt(x.Raw, onset)
	}
	if !x.last.known {
		return 0
	}
	z := (x.last.top - x.last.baseline.median) / (x.last.baseline.scale + floor)
	if !(z > 2) { // none, or NaN: the series is constant
		return 0
	}
	return min(1, math.Log(z/2)/math.Log(10))
}
