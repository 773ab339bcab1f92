package tracking

import (
	"fmt"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// regionText describes a region for people.
func regionText(severity schema.Severity, metric schema.Metric, name string) string {
	return fmt.Sprintf("%s %s region%s", severity, metric, at(name))
}

func describe(r *schema.Region) string {
	return fmt.Sprintf("%s, %s", regionText(r.Severity, r.Metric, r.Name), links(len(r.Links)))
}

func splitFrom(r *schema.Region, parent uint64) string {
	return fmt.Sprintf("%s, has split from region %d", describe(r), parent)
}

func cameApart(r *schema.Region) string {
	return describe(r) + ", split again from the region it had merged into"
}

func mergedInto(tr *track, r *schema.Region, last schema.Interval) string {
	return fmt.Sprintf("%s, %s, merged into region %d%s after %s", regionText(tr.severity, tr.metric, tr.name), links(len(tr.links)),
		r.ID, at(r.Name), intervals(tr.age(last)))
}

// unread says that links of a region have no readings, so that a fall of its severity is no relief.
func unread(r *schema.Region) string {
	if r.Unread == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d without readings)", r.Unread)
}

func changedSeverity(from, to schema.Severity, r *schema.Region) string {
	bound := "" // the severity reported after a run may be less extreme than the current one
	switch now := severityOf(r); {
	case now > to:
		bound = "at least "
	case now < to:
		bound = "at most "
	}
	return fmt.Sprintf("%s%s %s region%s, %s%s, was %s: mean stall now %.1f%%", bound, to, r.Metric, at(r.Name), links(len(r.Links)), unread(r), from, r.Mean)
}

func congestionBegan(e *CongestionEvent) string {
	return fmt.Sprintf("congestion event: a region is High, mean stall %.1f%%", e.PeakMeanPercent)
}

func congestionEnded(e *CongestionEvent, durationNanos int64) string {
	return fmt.Sprintf("the congestion event is over after %s: mean stall of the worst region up to %.1f%%",
		intervals(int(e.DurationNanos()/durationNanos)), e.PeakMeanPercent)
}

func ended(tr *track, durationNanos int64, unread int) string {
	after := intervals(int((tr.seenNanos - tr.birthNanos) / durationNanos))
	if len(tr.links) == 0 {
		return fmt.Sprintf("%s is gone after %s: none of its links is in the fabric any more", regionText(tr.severity, tr.metric, tr.name), after)
	}
	text := fmt.Sprintf("%s, %s, is gone after %s", regionText(tr.severity, tr.metric, tr.name), links(len(tr.links)), after)
	if unread > 0 {
		text += fmt.Sprintf(": %d of them have no readings, so it may continue", unread)
	}
	return text
}

// at describes the location of a region; its root is left to the diagnosis.
func at(name string) string {
	if name == "" {
		return ""
	}
	place, _ := topology.RootPlace(name)
	return " at " + place
}

func links(n int) string { return plural.Count(n, "link", "links") }

func intervals(n int) string { return plural.Count(n, "interval", "intervals") }
