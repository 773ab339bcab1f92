package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// kept is the last verdict on a region that was given while its onset, and enough before it, were remembered.
type kept struct {
	time      schema.Instant // of the interval in which it was given
	cause     schema.Cause
	jobs      []schema.AccusedJob
	failures  []schema.NearFailure
	root      *schema.Root
	action    string
	because   string                 // the sentences of its text that give the reason
	seen      int64                  // last slot of the region
	began     int64                  // slot of the onset
	slower    bool                   // a failed part that is up carries less than before
	baselines map[string]jobBaseline // by job near the region
}

// leastBaseline is how many calm intervals before an onset must be remembered to say what is usual, and to keep a new
// verdict.
const leastBaseline = 3

// hold replaces the verdict on a region by the kept one if the onset or the failures left the window, the region
// resumes or stalls more again for no visible reason, or its root gives no more readings, as long as what the kept one
// blames is there and nothing new speaks against it. It returns the reason.
func (rc *regionCase) hold(because string, d *schema.Diagnosis) string {
	seesOnset := rc.timeline.baseline().N >= leastBaseline
	k := rc.in.keptFor(d)
	if k == nil {
		if seesOnset {
			rc.keep(because, d, rc.timeline.began())
		}
		return because
	}
	fellSilent := k.root != nil && rc.in.history.FellSilent(k.root.Device)
	knowsLess := fellSilent || rc.timeline.resumes() || rc.outlasts(k)
	agrees, isUnknown := k.agrees(d), d.Cause.Class == schema.CauseUnknown
	if seesOnset && !knowsLess && !(isUnknown && rc.stallsMore(k)) {
		began := rc.timeline.began()
		if agrees {
			began = min(began, k.began) // it only stalls more
		}
		rc.keep(because, d, began)
		return because
	}
	k.seen = rc.in.history.Clock.Now
	if !isUnknown && !agrees && !knowsLess || k.cause.Class == schema.CauseUnknown ||
		rc.back.Root.Kind == schema.RootDeadlock {
		return because
	}
	if !rc.stands(k) {
		delete(rc.in.earlier.kept, d.Region)
		return because
	}
	rc.in.restore(d, k)
	if fellSilent {
		return "Found while " + topology.PlainName(k.root.Device) +
			" still reported counters, which it no longer does: " + k.because
	}
	return "Found when the congestion began: " + k.because
}

// keep remembers the verdict on a region, and the slot of its onset.
func (rc *regionCase) keep(because string, d *schema.Diagnosis, began int64) {
	rc.in.earlier.kept[d.Region] = &kept{time: d.Time, cause: d.Cause, jobs: d.Jobs, failures: d.Failures, root: d.Root,
		action: d.Action, because: because,
		seen: rc.in.history.Clock.Now, began: began, slower: rc.partSlower(),
		baselines: rc.jobBaselines(rc.in.earlierVerdict(d))}
}

// restore replaces a verdict by a kept one: the jobs that it accuses are no victims.
func (in *interval) restore(d *schema.Diagnosis, k *kept) {
	d.Cause, d.Root, d.Action = k.cause, in.numbered(k.root), k.action
	// empty, not null
	d.Jobs, d.Failures = append([]schema.AccusedJob{}, k.jobs...), append([]schema.NearFailure{}, k.failures...)
	d.Victims = slices.DeleteFunc(d.Victims, func(v schema.VictimJob) bool {
		return slices.ContainsFunc(d.Jobs, func(a schema.AccusedJob) bool { return a.JobID == v.JobID })
	})
}

// rises reports whether a region has an onset after that of its kept verdict.
func (rc *regionCase) rises(k *kept) bool {
	return rc.timeline.hasOnset() && rc.timeline.began() > k.began+settle
}

// stallsMore reports whether a region stalls more than when its kept verdict was given.
func (rc *regionCase) stallsMore(k *kept) bool {
	return rc.timeline.hasOnset() && (rc.timeline.cut || rc.rises(k) || rc.hasSecondStep(k))
}

// outlasts reports whether a kept cause is still the best known: what shows it left the window, and the region never
// stalled more.
func (rc *regionCase) outlasts(k *kept) bool {
	return k.cause.Class != schema.CauseUnknown && rc.in.forgot(k) && !(rc.rises(k) && rc.timeline.peaks())
}

// keptFor is the kept verdict on a region; on one without, that on the last other region, if it was there within a
// pause, whose root is a link of this one, or is this one's: a region whose links change much has a new number.
func (in *interval) keptFor(d *schema.Diagnosis) *kept {
	k := in.earlier.kept[d.Region]
	if k != nil {
		return k
	}
	k = in.lastKept(func(o *kept) bool {
		if o.root == nil || in.history.Clock.Now-o.seen > longPause {
			return false
		}
		isRoot := d.Root != nil && o.root.Device == d.Root.Device && o.root.Port == d.Root.Port
		return isRoot || slices.Contains(d.Links, in.numbered(o.root).Link)
	})
	if k == nil {
		return nil
	}
	same := *k
	in.earlier.kept[d.Region] = &same
	return &same
}

// earlierVerdict is the kept verdict on a region or, of a region without, the last on another one with the same root.
func (in *interval) earlierVerdict(d *schema.Diagnosis) (k *kept) {
	if k = in.keptFor(d); k != nil || d.Root == nil {
		return k
	}
	return in.lastKept(func(o *kept) bool {
		return o.root != nil && o.root.Device == d.Root.Device && o.root.Port == d.Root.Port
	})
}

// lastKept is the last of the kept verdicts that fit, nil if none does; of equals, that on the region with the least
// number.
func (in *interval) lastKept(fits func(*kept) bool) (last *kept) {
	of := uint64(0)
	for id, o := range in.earlier.kept {
		if fits(o) && (last == nil || o.isAfter(last) || !last.isAfter(o) && id < of) {
			last, of = o, id
		}
	}
	return last
}

// isAfter orders verdicts by when their regions were last there, and when they were given.
func (k *kept) isAfter(o *kept) bool {
	return cmp.Or(cmp.Compare(k.seen, o.seen), cmp.Compare(k.time, o.time), cmp.Compare(k.because, o.because)) > 0
}

// hasSecondStep reports whether a region stalls clearly more, since a kept verdict was given, than at any time before:
// its stall has two steps, and what caused the first follows it no more. In its first intervals a region still rises.
func (rc *regionCase) hasSecondStep(k *kept) bool {
	at := rc.timeline.indexIn(k.time)
	if at < 0 || rc.in.history.Clock.SlotOf(int64(k.time)) <= k.began+settle {
		return false
	}
	most := 0.
	for _, v := range rc.timeline.stall[:at+1] {
		if v > most { // not NaN
			most = v
		}
	}
	return slices.ContainsFunc(rc.timeline.stall[at:], func(v float64) bool { return v >= moreStall*most })
}

// moreStall is how many times the most that a region stalled is clearly more.
const moreStall = 1.3

// forgot reports whether what shows the cause of a verdict left the window: the onset, with enough before it, the
// earlier traffic of the accused that the stall followed, or the failures.
func (in *interval) forgot(k *kept) bool {
	shown := k.began
	if len(k.jobs) > 0 {
		shown -= int64(k.jobs[0].LagSeconds * 1e9 / float64(in.history.Clock.Duration))
	}
	if len(k.failures) > 0 {
		last := slices.MaxFunc(k.failures, func(a, b schema.NearFailure) int { return cmp.Compare(a.Time, b.Time) })
		shown = min(shown, in.history.Clock.SlotOf(int64(last.Time)))
	}
	return shown-leastBaseline < in.history.Clock.Now-int64(in.cfg.Window)
}

// numbered is a kept root with the current link of its port: link numbers change with the version of the fabric.
func (in *interval) numbered(kept *schema.Root) *schema.Root {
	if kept == nil {
		return nil
	}
	root := *kept
	port, _ := in.graph.FindPort(root.Device, root.Port)
	root.Link = port.Egress
	return &root
}

// agrees reports whether a verdict has the first job of the kept one, which knows more of whose way it is in.
func (k *kept) agrees(d *schema.Diagnosis) bool {
	return len(d.Jobs) > 0 && len(k.jobs) > 0 && d.Jobs[0].JobID == k.jobs[0].JobID
}

// stands reports whether what a verdict blames is still there: its jobs run, no failed part came back or was suspected
// and carries something, and the region did not always stall as it does now.
func (rc *regionCase) stands(k *kept) bool {
	for _, a := range k.jobs {
		if !slices.ContainsFunc(rc.in.running, func(j *job) bool {
			return j.ID == a.JobID && j.Start <= k.time+schema.Instant(rc.in.history.Clock.Duration)
		}) {
			return false
		}
	}
	return !slices.ContainsFunc(k.failures, func(f schema.NearFailure) bool {
		return rc.in.cameBack(f, k) || rc.settledSince(f) || rc.in.history.Refutes(f.Kind, f.Device, f.Port)
	})
}

// settledSince reports whether a region without an onset, which stalled more after a failure, stalls again as in all of
// the intervals before it: what waited for the failed part has other routes. A part that flaps fails again.
func (rc *regionCase) settledSince(was schema.NearFailure) bool {
	at := rc.timeline.indexIn(was.Time)
	return !rc.timeline.hasOnset() && rc.timeline.old && at >= leastBaseline && at < len(rc.timeline.stall)-1 &&
		meanOf(rc.timeline.stall[:at]) >= alreadyStalled*rc.timeline.stall[len(rc.timeline.stall)-1] &&
		!slices.ContainsFunc(rc.in.history.Failures, func(f history.PlacedFailure) bool {
			return f.Device == was.Device && f.Port == was.Port && f.Times > 1
		})
}

// partSlower reports whether the link that a region waits for carries less than before its onset, and is or was a
// failed part.
func (rc *regionCase) partSlower() bool {
	return (rc.back.Root.Slower || rc.ends.bottleneck.Slower) && slices.ContainsFunc(rc.failures, func(f nearFailure) bool {
		return slices.Contains(f.Links, rc.slowLink())
	})
}

// cameBack reports whether a part that a verdict blames came back. A verdict given after that, on a link that carries
// less since, blames what is left, such as a lost lane.
func (in *interval) cameBack(was schema.NearFailure, k *kept) bool {
	since := was.Time
	if k.slower {
		since = max(since, k.time)
	}
	return in.history.CameBack(was.Device, was.Port, since, longPause)
}
