package tracking

import "github.com/giverny/giverny/schema"

// reported is what the events of a region say of it.
type reported uint8

const (
	asNothing reported = iota // no event of it yet
	asApart                   // born, or split
	asMerged
	numReported
)

// reporting debounces the events of a region: its birth, its merging and coming apart are reported when
// they have lasted Config.DebounceIntervals, with the time at which they began, and its end only if its
// birth was. So a region that hovers at the limit of size or severity raises no event at every crossing.
// Identity and age do not depend on it.
type reporting struct {
	reported   reported
	run        int    // intervals in a row that are not as reported
	sinceNanos int64  // when the run began
	parent     uint64 // from which it has split, if not 0
	merging    string // what there is to say of the merge of this run
}

// hoverFactor is how much longer a region at a limit must last; of one that is there in half of all
// intervals, one run of two thousand lasts for ten.
const hoverFactor = 5

// lasts counts an interval that is not as reported, and says whether that has lasted.
func (p *reporting) lasts(interval schema.Interval, wanted int) bool {
	if p.run == 0 {
		p.sinceNanos = interval.StartNanos
	}
	p.run++
	return p.run >= wanted
}

func (p *reporting) report(as reported) { p.reported, p.run, p.merging = as, 0, "" }

// reportSeen takes an interval in which a region is there, and apart.
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

// reportUnseen takes an interval in which a region is not there, or lies in another.
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

// reportEnd takes the end of an identity.
func (t *Tracker) reportEnd(tr *track, interval schema.Interval) {
	switch {
	case tr.reporting.reported != asApart:
	case tr.merged:
		t.reportMerged(tr)
	default:
		t.event(tr.seenNanos, schema.RegionEnded, tr.id, ended(tr, interval.DurationNanos))
	}
}
