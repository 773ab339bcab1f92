package collective

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/internal/plural"
)

// milliseconds formats nanoseconds as ms: exactly below 1 ms, otherwise to the
// microsecond. The JSON form has all digits.
func milliseconds(nanos int64) string {
	if nanos < 1e6 {
		return fmt.Sprintf("%.6f ms", float64(nanos)/1e6)
	}
	return fmt.Sprintf("%.3f ms", float64(nanos)/1e6)
}

// describe is the diagnosis as text.
func (d *Diagnosis) describe(run *Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ranks, %d steps", d.Ranks, d.Steps)
	if d.Iterations > 1 {
		fmt.Fprintf(&b, ", %d collectives", d.Iterations)
	}
	fmt.Fprintf(&b, ": makespan %s", milliseconds(d.MakespanNanos))
	if d.ExpectedNanos < d.MakespanNanos { // unknown for a hang
		fmt.Fprintf(&b, ", %s without what is listed below", milliseconds(d.ExpectedNanos))
	}
	b.WriteString(".\n")
	for _, c := range d.Culprits {
		if c.Confidence < sureEnough {
			b.WriteString("possible ")
		}
		fmt.Fprintf(&b, "%s", strings.ReplaceAll(string(c.Class), "_", " "))
		if c.Flow != "" {
			fmt.Fprintf(&b, " %s", c.Flow)
		}
		fmt.Fprintf(&b, " at %s: %s", c.Object, milliseconds(c.CostNanos))
		if d.MakespanNanos > 0 && c.CostNanos <= d.MakespanNanos { // a hang may have lasted longer than the recorded makespan
			fmt.Fprintf(&b, ", %.0f%% of it", 100*float64(c.CostNanos)/float64(d.MakespanNanos))
		}
		fmt.Fprintf(&b, " (%sconfidence %.2f)", c.between(), c.Confidence)
		if c.Evidence != "" {
			fmt.Fprintf(&b, "; %s", c.Evidence)
		}
		b.WriteString(".\n")
	}
	switch {
	case len(d.Culprits) > 0 || d.MakespanNanos <= 0:
	case float64(d.unexplained) >= leastUnexplained*float64(d.MakespanNanos):
		fmt.Fprintf(&b, "No culprit found: steps are slow, which costs %s, and the records do not show why.\n", milliseconds(d.unexplained))
	default:
		b.WriteString("No culprit: the steps take as long as expected.\n")
	}
	for _, list := range []struct {
		what  string
		ranks []int
	}{{"Stopped", d.StoppedRanks}, {"Late", d.LateRanks}, {"Without records", d.MissingRanks}} {
		if len(list.ranks) > 0 {
			fmt.Fprintf(&b, "%s: %s.\n", list.what, rankList(run, list.ranks))
		}
	}
	if len(d.ClockOffsets) > 0 {
		fmt.Fprintf(&b, "The clocks of %d ranks were corrected, estimated from matched steps.\n", len(d.ClockOffsets))
	}
	for _, n := range append(d.Disagreement, d.Notes...) {
		fmt.Fprintf(&b, "Note: %s.\n", n)
	}
	return b.String()
}

// between is the range of a cost as text; empty if there is none.
func (c *Culprit) between() string {
	if c.CostRangeNanos == [2]int64{} {
		return ""
	}
	return fmt.Sprintf("between %s and %s, ", milliseconds(c.CostRangeNanos[0]), milliseconds(c.CostRangeNanos[1]))
}

// rankList names up to sixteen ranks with their nodes.
func rankList(run *Run, ranks []int) string {
	var parts []string
	for _, r := range ranks {
		parts = append(parts, fmt.Sprintf("rank %d (%s)", r, run.Ranks[r].Node))
	}
	return plural.First(parts, 16, ", ")
}
