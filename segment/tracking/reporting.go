package tracking

import "github.com/giverny/giverny/schema"

// reported is the state of a region according to its events.
type reported uint8

const (
	asNothing reported = iota // no event yet
	asApart                   // born, or split
	asMerged
	numReported
)

// reporting debounces the events of a region: its birth, merge and split are reported when they have
// lasted Config.DebounceIntervals, with the time at which they began, and its end only if its birth was.
// So a region at the limit of size or severity causes no event at each crossing. Identity and age are
// not affected.
type reporting struct {
	reported   reported
	run        int    // consecutive intervals in another state than reported
	sinceNanos int64  // start of the run
	parent     uint64 // the region it split from, or 0
	merging    string // description of the merge of this run
}

// hoverFactor is how much longer a borderline region must last; for one that exists in half of all
// intervals, one run in two thousand lasts for ten.
const hoverFactor = 5

// lasts counts an interval in another state than reported, and returns whether that has lasted.
func (p *reporting) lasts(interval schema.Interval, wanted int) bool {
	if p.run == 0 {
		p.sinceNanos = interval.StartNanos
	}
	p.run++
	return p.run >= wanted
}

func (p *reporting) report(as reported) { p.reported, p.run, p.merging = as, 0, "" }

// reportSeen processes an interval in which a region exists separately.
func (t *Tracker) reportSeen(tr *track, region *schema.Region, interval schema.Interval) {
	p, severity := &tr.reporting, severityOf(region)
	if p.reported == asApart {
		p.run, p.merging = 0, ""
		if was := tr.debounce.reported; tr.debounce.update(severity, t.cfg.DebounceIntervals) {
			t.event(interval.StartNanos, schema.RegionSeverity, tr.id, changedSeverity(was, tr.debounce.reported, region))
		}
		return
	}
	wanted := t.cfg.DebounceIntervals
	if p.reported == asNothing && t.cfg.Limits.hovers(region) {
		wanted *= hoverFactor
	}
	if !p.lasts(interval, wanted) {
		return
	}
	switch {
	case p.reported == asMerged:
		t.event(p.sinceNanos, schema.RegionSplit, tr.id, cameApart(region))
	case p.parent != 0:
		t.event(tr.birthNanos, schema.RegionSplit, tr.id, splitFrom(region, p.parent))
	default:
		t.event(tr.birthNanos, schema.RegionBorn, tr.id, describe(region))
	}
	tr.debounce = debounce{reported: severity}
	p.report(asApart)
}

// reportUnseen processes an interval in which a region is absent or merged.
func (t *Tracker) reportUnseen(tr *track, interval schema.Interval) {
	p := &tr.reporting
	if p.reported != asApart || !tr.merged {
		p.run = 0
		return
	}
	if p.lasts(interval, t.cfg.DebounceIntervals) {
		t.reportMerged(tr)
	}
}

func (t *Tracker) reportMerged(tr *track) {
	t.event(tr.reporting.sinceNanos, schema.RegionMerged, tr.id, tr.reporting.merging)
	tr.reporting.report(asMerged)
}

// reportEnd processes the end of an identity.
func (t *Tracker) reportEnd(tr *track, interval schema.Interval) {
	switch {
	case tr.reporting.reported != asApart:
	case tr.merged:
		t.reportMerged(tr)
	default:
		t.event(tr.seenNanos, schema.RegionEnded, tr.id, ended(tr, interval.DurationNanos, t.unreadOf(tr)))
	}
}
