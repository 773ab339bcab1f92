package main

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// verdicts prints why regions are congested, each again only when that has changed.
func (t *demoPrinter) verdicts(r *schema.IntervalResult) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		because := becauseOf(d)
		if d.Cause.Class == schema.CauseUnknown || t.said[d.Region] == because {
			continue
		}
		t.said[d.Region] = because
		if d.Root != nil && d.Cause.Class != schema.CauseFailure {
			because += ", back pressure begins at " + placeOf(d.Root.Device, d.Root.Port)
		}
		t.line(r.Snapshot.Interval.EndNanos(), "?", "%s: %s, %.0f%% sure. %s [%d]", d.Severity, because, 100*d.Cause.Confidence, d.Action, d.Region)
	}
}

// becauseOf is what a diagnosis comes to in half a line, without its numbers and its root; the page has the whole text.
func becauseOf(d *schema.Diagnosis) string {
	switch {
	case d.Cause.Class == schema.CauseFailure && len(d.Failures) > 0:
		f := &d.Failures[0]
		return strings.ReplaceAll(string(f.Kind), "_", " ") + " at " + placeOf(f.Device, f.Port)
	case d.Cause.Class == schema.CauseFailure:
		return "a link carries less than before"
	case d.Cause.Class == schema.CauseSlowHost:
		return "a host does not take what arrives"
	case len(d.Jobs) == 0:
		return strings.ReplaceAll(string(d.Cause.Class), "_", " ")
	case d.Cause.Class == schema.CauseIntraApplication:
		return "job " + d.Jobs[0].JobID + " fills the links it stands on"
	}
	return "job " + d.Jobs[0].JobID + " loads the region"
}

func placeOf(device, port string) string {
	if port == "" {
		return device
	}
	return device + " port " + port
}
