package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// report puts the verdict on a region into words. It reads the case; steadyRoot and hold take the verdicts of earlier
// intervals into account.
type report struct{ *regionCase }

// diagnosis is the verdict in its stored and published form (docs/reference/diagnosis.md).
func (r *report) diagnosis(snap *schema.Snapshot) schema.Diagnosis {
	region := r.region
	d := schema.Diagnosis{Fabric: snap.Fabric, Time: schema.Instant(snap.Interval.StartNanos), Region: region.ID,
		Metric: region.Metric, Severity: region.Severity, Links: slices.Clone(region.Links), Mean: region.Mean,
		Cause: schema.Cause{Class: r.verdict.class, Confidence: r.verdict.confidence}, Jobs: []schema.AccusedJob{},
		Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}}
	seconds := float64(snap.Interval.DurationNanos) / 1e9
	for i := range r.verdict.accused {
		c := &r.suspects[i]
		a := schema.AccusedJob{JobID: c.job.ID, Blame: c.blame, Value: c.value, Deviations: c.devs,
			Correlation: c.evidence.Correlation, LagSeconds: float64(c.evidence.Lag) * seconds, PValue: c.evidence.P}
		if c.known {
			a.Feature = c.feature.String()
		}
		d.Jobs = append(d.Jobs, a)
	}
	d.Root = r.steady().steadyRoot(r.rootPort())
	if r.verdict.class == schema.CauseFailure && r.verdict.blamed == 0 && d.Root != nil &&
		d.Root.Kind == schema.RootLinkDown {
		r.verdict.blamed = r.decision().logged(d.Root.Link) // of most intervals, not this one's
	}
	for i := range r.verdict.blamed {
		d.Failures = append(d.Failures, r.failures[i].report())
	}
	if r.verdict.blamed > 0 {
		r.repeated(&d)
	}
	also := r.failedRoot(d.Root)
	if also != nil {
		d.Failures = append(d.Failures, also.report())
	}
	d.Cycle = r.cycleOf()
	d.Victims = r.victims(r.in.earlierVerdict(&d))
	d.Action = schema.OneLine(r.action(d.Root))
	because := r.because(d.Root)
	if also != nil {
		d.Action = "First replace or reseat the cable at " + r.cableAt(also.Device, also.Port) + ". " + d.Action
		because += " " + r.failed(also) + ", and the back pressure leads to it: without that link the job's traffic " +
			"has less capacity."
	}
	because = r.steady().hold(because, &d)
	d.Text = schema.OneLine(r.text(because, &d))
	return d
}

// victims are the jobs that are not accused, and whose traffic crosses the region's links or fell much at its onset. A
// job that lost a share s of its traffic takes 1/(1-s) as long. If that is not measured, it takes as much longer as it
// waits for a share s of the time: at least the mean stall of the region's links that the job uses, weighted by the
// share of its traffic there, and at most the worst of them, as if all messages waited for it. If the measured loss is
// small, that is the lower bound, and what still counts as small the upper. An earlier verdict may know more of what a
// job moved before.
func (r *report) victims(earlier *kept) []schema.VictimJob {
	out, ground := []schema.VictimJob{}, r.ground()
	for i := r.verdict.accused; i < len(r.suspects); i++ {
		c := &r.suspects[i]
		lost, measured := 0., false
		if ground.canHoldUp(c) {
			lost, measured = r.lossBy(c.job)
			if was, known := r.remembered(earlier, c.job); known {
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
	return out[:min(len(out), r.in.cfg.MaxListed)]
}

// slowdown is the factor by which a job is slower that waits for a share of the time, to thousandths: of root.MaxStall
// exactly 20.
func slowdown(share float64) float64 { return math.Round(1000/(1-share)) / 1000 }

// repeated adds to a diagnosis the earlier failures of the part that it blames first.
func (r *report) repeated(d *schema.Diagnosis) {
	f := r.failures[0].PlacedFailure
	if f.Times < 2 {
		return
	}
	for i := range r.failures {
		o := &r.failures[i]
		if o.silent == nil && o.Broke() && o.Part() == f.Part() && o.Time < f.Time &&
			len(d.Failures) < r.in.cfg.MaxListed &&
			!slices.ContainsFunc(d.Failures, func(n schema.NearFailure) bool {
				return n.Time == o.Time && n.Device == o.Device && n.Port == o.Port
			}) {
			d.Failures = append(d.Failures, o.report())
		}
	}
}
