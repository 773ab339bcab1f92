package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// loss caches a job's loss of traffic since an onset, for the regions of an interval that began together.
type loss struct {
	cached   bool
	onset    int64 // slot
	share    float64
	measured bool        // its traffic is known before and since
	baseline jobBaseline // if measured
}

// jobBaseline is what a job moved before the onset of a region.
type jobBaseline struct {
	main  history.Feature
	least float64 // least mean of consecutive intervals, bytes
	first float64 // share of it that was lost in the first intervals since the onset
}

const (
	// A job's earlier traffic is compared with its mean over the first intervals since an onset, as held-up traffic
	// falls with it, and over the last, as it stays down.
	firstIntervals, lastIntervals = 3, 8
	// leastJobBaseline intervals before the onset are needed to know what a job moved then.
	leastJobBaseline = 4
)

// lostBy is the share of lossBy for a sum, to which a loss that is not known adds nothing.
func (rc *regionCase) lostBy(j *job) float64 {
	lost, _ := rc.lossBy(j)
	return lost
}

// lossBy is the share of its traffic that a job lost since the onset of a region, 0 to 1, and whether that is known.
// Jobs that communicate in phases move in some intervals what they do not in others, so the mean over the intervals
// since the onset is compared with the least mean over as many consecutive intervals before.
func (rc *regionCase) lossBy(j *job) (share float64, measured bool) {
	if !rc.timeline.hasOnset() || j.Traffic == nil {
		return 0, false
	}
	onset := rc.timeline.began()
	if m := &j.lost; !m.cached || m.onset != onset {
		*m = rc.in.lossSince(j, onset)
	}
	return j.lost.share, j.lost.measured
}

// lossSince is the same since a slot. The interval of the onset itself is mixed, and is used only if it is the last.
func (in *interval) lossSince(j *job, onset int64) loss {
	w, from, to := &in.scratch, max(in.history.Clock.First, in.history.Clock.Now-int64(in.history.TrafficLength())+1),
		onset-settle
	l := loss{cached: true, onset: onset, baseline: jobBaseline{main: j.Traffic.Main(from, to)}}
	w.baseline = j.Traffic.MovedIn(w.baseline[:0], l.baseline.main, from, to)
	w.since = j.Traffic.MovedIn(w.since[:0], l.baseline.main, min(onset+1, in.history.Clock.Now), in.history.Clock.Now)
	baseline, since := w.baseline, w.since
	if len(baseline) < leastJobBaseline || len(since) == 0 {
		return l
	}
	most := min(lastIntervals, len(baseline), len(since))
	first := min(firstIntervals, most)
	l.measured, l.baseline.least, l.baseline.first = history.SumOf(baseline) > 0, leastMean(baseline, most),
		below(leastMean(baseline, first), since[:first])
	l.share = min(l.baseline.first, below(l.baseline.least, since[len(since)-most:]))
	return l
}

// leastMean is the least mean of n consecutive values.
func leastMean(values []float64, n int) float64 {
	sum := history.SumOf(values[:n])
	least := sum
	for i := n; i < len(values); i++ {
		sum += values[i] - values[i-n]
		least = min(least, sum)
	}
	return least / float64(n)
}

// below is the share by which the mean of values is below what is usual; 0 if it is not.
func below(usual float64, values []float64) float64 {
	if usual <= 0 {
		return 0
	}
	return max(0, 1-history.SumOf(values)/float64(len(values))/usual)
}

// remembered is the share of its traffic that a job lost since the onset of a region, where an earlier verdict knows
// what the job moved before: the onset may have left the window, or the same root held the job up before it.
func (rc *regionCase) remembered(k *kept, j *job) (share float64, known bool) {
	usual, known := rc.baselineFor(k, j)
	if !known {
		return 0, false
	}
	now, onset := rc.in.history.Clock.Now, k.began
	if rc.timeline.hasOnset() {
		onset = max(onset, rc.timeline.began())
	}
	last := j.Traffic.MovedIn(rc.in.scratch.since[:0], usual.main, min(now, max(onset+1, now-lastIntervals+1)), now)
	rc.in.scratch.since = last
	if len(last) == 0 {
		return 0, false
	}
	return min(rc.firstLost(usual, j), below(usual.least, last)), true
}

// firstLost is the share of what is usual that a job lost in the first intervals since the onset of a region or, if
// that left the window, of its kept verdict.
func (rc *regionCase) firstLost(usual jobBaseline, j *job) float64 {
	if !rc.timeline.hasOnset() {
		return usual.first
	}
	now, onset := rc.in.history.Clock.Now, rc.timeline.began()
	first := j.Traffic.MovedIn(rc.in.scratch.baseline[:0], usual.main, min(now, onset+1), min(now, onset+firstIntervals))
	rc.in.scratch.baseline = first
	if len(first) == 0 {
		return usual.first
	}
	return below(usual.least, first)
}

// baselineFor is what a job moved before an earlier verdict, if it is still usual: the same run of the job, which
// between that congestion and this one, if there was a pause, moved no less.
func (rc *regionCase) baselineFor(k *kept, j *job) (usual jobBaseline, known bool) {
	if k == nil || j.Traffic == nil || rc.in.history.Clock.SlotOf(int64(j.Start)) >= k.began {
		return usual, false
	}
	if usual, known = k.baselines[j.ID]; !known || !rc.timeline.hasOnset() || rc.timeline.began() <= k.seen {
		return usual, known
	}
	between := j.Traffic.MovedIn(rc.in.scratch.baseline[:0], usual.main, k.seen+1, rc.timeline.began()-settle)
	rc.in.scratch.baseline = between
	return usual, len(between) == 0 || below(usual.least, between) < smallLoss
}

// jobBaselines is what jobs near a region moved before its onset, and before an earlier verdict: of the two the most,
// since what is usual is less where the same root held the job up not long before.
func (rc *regionCase) jobBaselines(k *kept) map[string]jobBaseline {
	all := map[string]jobBaseline{}
	for i := range rc.suspects {
		j := rc.suspects[i].job
		if usual, known := rc.baselineFor(k, j); known {
			usual.first = rc.firstLost(usual, j)
			all[j.ID] = usual
		}
		if _, measured := rc.lossBy(j); measured && j.lost.baseline.least > all[j.ID].least {
			all[j.ID] = j.lost.baseline
		}
	}
	return all
}

// smallLoss of its traffic may be a job's own variation: a victim lost more.
const smallLoss = .2

// mostLost is the largest loss, at the onset of a region, of a job other than own that the region can hold up.
func (rc *regionCase) mostLost(own *job) (most float64) {
	rules := rc.rules()
	for i := range rc.suspects {
		if c := &rc.suspects[i]; c.job.ID != own.ID && rules.canHoldUp(c) {
			most = max(most, rc.lostBy(c.job))
		}
	}
	return most
}

// causesAnother reports whether the verdict on another region of the interval before accuses a job.
func (rc *regionCase) causesAnother(j *job) bool {
	for id, k := range rc.in.earlier.kept {
		if id != rc.region.ID && k.seen >= rc.in.history.Clock.Now-1 &&
			slices.ContainsFunc(k.jobs, func(a schema.AccusedJob) bool { return a.JobID == j.ID }) {
			return true
		}
	}
	return false
}
