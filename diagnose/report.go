package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// report puts the verdict on a region into its stored and published form (docs/reference/diagnosis.md). Verdicts on
// earlier intervals take part: they are votes for the root, and one of them may be kept.
func (rc *regionCase) report(snap *schema.Snapshot) schema.Diagnosis {
	d := rc.draft(snap)
	d.Root = rc.steadyRoot(rc.rootPort())
	if rc.verdict.class == schema.CauseFailure && rc.verdict.blamed == 0 && d.Root != nil &&
		d.Root.Kind == schema.RootLinkDown {
		rc.verdict.blamed = rc.logged(d.Root.Link) // of most intervals, not this one's
	}
	for i := range rc.verdict.blamed {
		d.Failures = append(d.Failures, rc.failures[i].report())
	}
	if rc.verdict.blamed > 0 {
		rc.repeated(&d)
	}
	also := rc.failedRoot(d.Root)
	if also != nil {
		d.Failures = append(d.Failures, also.report())
	}
	d.Cycle = rc.cycleOf()
	d.Victims = rc.victims(rc.in.earlierVerdict(&d))
	found := rc.finding(d.Root, also)
	d.Action = schema.OneLine(found.Action())
	because := rc.hold(found.Reasons(), &d)
	d.Text = schema.OneLine(found.Text(because, &d))
	return d
}

// draft is a diagnosis with the region, the class and the accused of a verdict.
func (rc *regionCase) draft(snap *schema.Snapshot) schema.Diagnosis {
	region := rc.region
	d := schema.Diagnosis{Fabric: snap.Fabric, Time: schema.Instant(snap.Interval.StartNanos), Region: region.ID,
		Metric: region.Metric, Severity: region.Severity, Links: slices.Clone(region.Links), Mean: region.Mean,
		Cause: schema.Cause{Class: rc.verdict.class, Confidence: rc.verdict.confidence}, Jobs: []schema.AccusedJob{},
		Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}}
	seconds := float64(snap.Interval.DurationNanos) / 1e9
	for i := range rc.verdict.accused {
		c := &rc.suspects[i]
		a := schema.AccusedJob{JobID: c.job.ID, Blame: c.blame, Value: c.value, Deviations: c.devs,
			Correlation: c.evidence.Correlation, LagSeconds: float64(c.evidence.Lag) * seconds, PValue: c.evidence.P}
		if c.known {
			a.Feature = c.feature.String()
		}
		d.Jobs = append(d.Jobs, a)
	}
	return d
}

// victims are the jobs that are not accused, and whose traffic crosses the region's links or fell much at its onset. A
// job that lost a share s of its traffic takes 1/(1-s) as long. If that is not measured, it takes as much longer as it
// waits for a share s of the time: at least the mean stall of the region's links that the job uses, weighted by the
// share of its traffic there, and at most the worst of them, as if all messages waited for it. If the measured loss is
// small, that is the lower bound, and what still counts as small the upper. An earlier verdict may know more of what a
// job moved before.
func (rc *regionCase) victims(earlier *kept) []schema.VictimJob {
	out, rules := []schema.VictimJob{}, rc.rules()
	for i := rc.verdict.accused; i < len(rc.suspects); i++ {
		c := &rc.suspects[i]
		lost, measured := 0., false
		if rules.canHoldUp(c) {
			lost, measured = rc.lossBy(c.job)
			if was, known := rc.remembered(earlier, c.job); known {
				lost, measured = max(lost, was), true
			}
		}
		least, most := min(c.worstStall, c.waitPerByte), c.worstStall
		switch {
		case lost >= smallLoss:
			least, most = min(root.MaxStall, lost), min(root.MaxStall, lost)
		case measured:
			least, most, lost = min(least, lost), max(lost, min(most, smallLoss)), 0
		default:
			lost = 0
		}
		if c.worstStall < schema.LowPercent/100. && lost == 0 {
			continue
		}
		out = append(out, schema.VictimJob{JobID: c.job.ID, Slowdown: [2]float64{slowdown(least), slowdown(most)},
			LostPercent: 100 * lost})
	}
	slices.SortStableFunc(out, func(a, b schema.VictimJob) int { // measured losses come before bounds
		return cmp.Or(cmp.Compare(b.LostPercent, a.LostPercent), cmp.Compare(b.Slowdown[1], a.Slowdown[1]),
			cmp.Compare(a.JobID, b.JobID))
	})
	return out[:min(len(out), rc.in.cfg.MaxListed)]
}

// slowdown is the factor by which a job is slower that waits for a share of the time, to thousandths: of root.MaxStall
// exactly 20.
func slowdown(share float64) float64 { return math.Round(1000/(1-share)) / 1000 }

// repeated adds to a diagnosis the earlier failures of the part that it blames first.
func (rc *regionCase) repeated(d *schema.Diagnosis) {
	f := rc.failures[0].PlacedFailure
	if f.Times < 2 {
		return
	}
	for i := range rc.failures {
		o := &rc.failures[i]
		if o.silent == nil && o.Broke() && o.Part() == f.Part() && o.Time < f.Time &&
			len(d.Failures) < rc.in.cfg.MaxListed &&
			!slices.ContainsFunc(d.Failures, func(n schema.NearFailure) bool {
				return n.Time == o.Time && n.Device == o.Device && n.Port == o.Port
			}) {
			d.Failures = append(d.Failures, o.report())
		}
	}
}
