package ticket

import (
	"fmt"
	"math"
	"strings"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Text is the paragraph, of a diagnosis for which these are the reasons. An earlier verdict may have replaced both.
func (f *Finding) Text(because string, d *schema.Diagnosis) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s for %.0f%% of the time on average. %s", f.Region.Severity, f.congestion(d.Root),
		plural.Count(len(f.Region.Links), "link stalls", "links stall"), f.Region.Mean, because)
	b.WriteString(f.rootText(d))
	if n := f.Region.Unread; n > 0 {
		fmt.Fprintf(&b, " %s no readings in this interval, so the congestion may be worse.",
			plural.Count(n, "link of the region has", "links of the region have"))
	}
	b.WriteString(victimsText(d.Victims))
	switch {
	case d.Cause.Class != schema.CauseUnknown:
		fmt.Fprintf(&b, " Confidence %.0f%%.", d.Cause.Percent())
	case len(d.Cycle) == 0: // whyUnknown says so of a deadlock
		b.WriteString(" The cause is unknown.")
	}
	b.WriteString(" " + d.Action)
	return b.String()
}

// congestion names the congestion by where it is, or where it begins.
func (f *Finding) congestion(root *schema.Root) string {
	name := f.Region.Name
	switch at := f.Region.Root; {
	case at != nil && !at.Holds(root): // the verdict found another root than the region's own
		name = f.Graph.Describe(f.Region.Links)
	case name == "":
		name = f.Graph.DescribeRegion(f.Region)
	}
	if root != nil {
		name = topology.RenameRoot(name, root.Kind)
	}
	switch {
	case !topology.NamesRoot(name):
		return "congestion in " + name
	case strings.HasPrefix(name, "congestion"): // tree
		return name
	}
	return "congestion by " + article(name) + name
}

// victimsText says which other jobs are slower, and by how much.
func victimsText(victims []schema.VictimJob) (text string) {
	if len(victims) == 0 {
		return ""
	}
	worst := victims[0]
	if factor := factorText(worst.Slowdown); len(victims) == 1 {
		text = fmt.Sprintf(" It slows down job %s by a factor of %s.", worst.JobID, factor)
	} else {
		text = fmt.Sprintf(" It slows down %d other jobs, the worst (job %s) by a factor of %s.", len(victims),
			worst.JobID, factor)
	}
	if worst.LostPercent > 0 {
		text += fmt.Sprintf(" Since the congestion began, job %s moves %.0f%% less data.", worst.JobID,
			worst.LostPercent)
	}
	return text
}

// article is the indefinite one of a name.
func article(name string) string {
	if strings.ContainsAny(name[:1], "aeiou") {
		return "an "
	}
	return "a "
}

// factorText formats a slowdown; a bound capped by MaxStall may be higher.
func factorText(slowdown [2]float64) string {
	// the page rounds a half likewise
	tenths := func(v float64) string { return fmt.Sprintf("%.1f", math.Round(10*v)/10) }
	low, high := tenths(slowdown[0]), tenths(slowdown[1])
	switch most := tenths(1 / (1 - root.MaxStall)); {
	case high == most:
		return strings.TrimSuffix(low, ".0") + " or more"
	case low == high:
		return high
	case low == "1.0":
		return "up to " + high
	}
	return low + " to " + high
}

// rootText says where back pressure begins by the reported root.
func (f *Finding) rootText(d *schema.Diagnosis) string {
	root := d.Root
	switch {
	case len(d.Cycle) > 0:
		var names []string
		for _, p := range d.Cycle {
			names = append(names, topology.PortName(p.Device, p.Port))
		}
		return " Possible deadlock: each of these ports waits for the next, and the last for the first: " +
			strings.Join(names, ", ") + "."
	case root == nil, len(d.Failures) > 0: // the failure was named already
		return ""
	case root.Kind == "":
		return fmt.Sprintf(" Back pressure may begin at %s; the load of links is not measured.",
			topology.PlainName(root.Device))
	case root.Port == "" && !f.MeasuresLoad && f.OnGrid:
		return fmt.Sprintf(" Back pressure probably begins at %s; the load of links is not measured.",
			topology.PlainName(root.Device))
	case root.Port == "" && root.Kind == schema.RootSlowReceiver:
		return fmt.Sprintf(" Back pressure begins at %s: it accepts less traffic than arrives.",
			topology.PlainName(root.Device))
	case root.Port == "" && root.Kind == schema.RootLinkCapacity:
		return fmt.Sprintf(" Back pressure begins at a port of %s: more traffic waits for its link than that "+
			"carries.", topology.PlainName(root.Device))
	case root.Port == "":
		return fmt.Sprintf(" Back pressure begins at %s: more traffic arrives for it than it accepts.",
			topology.PlainName(root.Device))
	}
	at, use := topology.PortName(root.Device, root.Port)+" to "+topology.PlainName(root.Peer), ""
	if f.Back.HasRoot() && f.Back.Root.Use >= 0 {
		use = fmt.Sprintf(", which carries %.0f%% of its capacity", f.Back.Root.Use)
	}
	switch root.Kind {
	case schema.RootIncast:
		return fmt.Sprintf(" Back pressure begins at %s%s: more traffic arrives for it than it can deliver (incast).",
			at, use)
	case schema.RootSlowReceiver:
		if d.Cause.Class == schema.CauseSlowHost { // so the verdict says
			return fmt.Sprintf(" Back pressure begins at %s%s.", at, use)
		}
		return fmt.Sprintf(" Back pressure begins at %s%s: the receiver does not drain.", at, use)
	case schema.RootLinkDown:
		return fmt.Sprintf(" Back pressure begins at %s, which is down.", at)
	}
	why := "more traffic waits for the link than it carries"
	switch {
	case d.Cause.Class == schema.CauseFailure:
		why = "the link has lost part of its rate"
	case f.Back.Root.IsFull():
		why = "the link is full because of load, not because of a fault"
	}
	return fmt.Sprintf(" Back pressure begins at %s%s: %s.", at, use, why)
}
