package draw

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// Report is a report as text: the verdicts, and a table of the pairs.
func Report(g *hostping.Graph, r *hostping.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s host, %d probes, %d of %d pairs measured\n", r.State, r.Probes, len(r.Matrix), len(g.Paths))
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		fmt.Fprintf(&b, "%s (confidence %.2f): %s\n", v.Bottleneck, v.Confidence, v.Text)
	}
	if len(r.Verdicts) == 0 {
		fmt.Fprintln(&b, "no bottleneck")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, u := range r.Unmeasured {
		fmt.Fprintf(&b, "not measured: %s to %s: %s\n", u.RNIC, u.Endpoint, u.Reason)
	}
	fmt.Fprintf(&b, "\nGb/s (percent of baseline)\n%-10s", "")
	for _, e := range g.Endpoints {
		fmt.Fprintf(&b, " %10s", e.ID)
	}
	cells := map[hostping.Pair]hostping.Cell{}
	for _, c := range r.Matrix {
		cells[c.Pair] = c
	}
	for _, n := range g.RNICs {
		fmt.Fprintf(&b, "\n%-10s", n.ID)
		for _, e := range g.Endpoints {
			text := "-"
			if c, ok := cells[hostping.Pair{RNIC: n.ID, Endpoint: e.ID}]; ok && c.BaselineGbps > 0 {
				text = fmt.Sprintf("%.0f (%.0f)", c.Gbps, 100*c.Gbps/c.BaselineGbps)
			}
			fmt.Fprintf(&b, " %10s", text)
		}
	}
	return b.String() + "\n"
}
