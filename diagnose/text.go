package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// text is a paragraph for a ticket.
func (r *report) text(because string, d *schema.Diagnosis) string {
	var b strings.Builder
	name := r.region.Name
	switch at := r.region.Root; {
	case at != nil && !at.Holds(d.Root): // the verdict found another root than the region's own
		name = r.in.graph.Describe(r.region.Links)
	case name == "":
		name = r.in.graph.DescribeRegion(r.region)
	}
	if d.Root != nil {
		name = topology.RenameRoot(name, d.Root.Kind)
	}
	switch {
	case !topology.NamesRoot(name):
		name = "congestion in " + name
	case !strings.HasPrefix(name, "congestion"): // tree
		name = "congestion by " + article(name) + name
	}
	fmt.Fprintf(&b, "%s %s: %s for %.0f%% of the time on average. %s", r.region.Severity, name,
		plural.Count(len(r.region.Links), "link stalls", "links stall"), r.region.Mean, because)
	b.WriteString(r.rootText(d))
	if n := r.region.Unread; n > 0 {
		fmt.Fprintf(&b, " %s no readings in this interval, so the congestion may be worse.",
			plural.Count(n, "link of the region has", "links of the region have"))
	}
	if n := len(d.Victims); n > 0 {
		worst := d.Victims[0]
		if n == 1 {
			fmt.Fprintf(&b, " It slows down job %s by a factor of %s.", worst.JobID, factorText(worst.Slowdown))
		} else {
			fmt.Fprintf(&b, " It slows down %d other jobs, the worst (job %s) by a factor of %s.", n, worst.JobID,
				factorText(worst.Slowdown))
		}
		if worst.LostPercent > 0 {
			fmt.Fprintf(&b, " Since the congestion began, job %s moves %.0f%% less data.", worst.JobID,
				worst.LostPercent)
		}
	}
	switch {
	case d.Cause.Class != schema.CauseUnknown:
		fmt.Fprintf(&b, " Confidence %.0f%%.", d.Cause.Percent())
	case len(d.Cycle) == 0: // whyUnknown says so of a deadlock
		b.WriteString(" The cause is unknown.")
	}
	b.WriteString(" " + d.Action)
	return b.String()
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

// because gives the reasons of a verdict in sentences.
func (r *report) because(root *schema.Root) string {
	switch r.verdict.class {
	case schema.CauseUnknown:
		why := r.whyUnknown()
		if root := r.region.Root; root != nil && r.in.history.FellSilent(root.Device) {
			why += " " + topology.PlainName(root.Device) + ", to which its back pressure leads, reports no counters."
		}
		return why
	case schema.CauseFailure:
		if r.verdict.blamed == 0 {
			return "A link carries much less than before although traffic waits for it. No log reports a failure."
		}
		f := &r.failures[0]
		if f.silent != nil {
			return r.silence(r.verdict.blamed)
		}
		where := "in the region"
		if f.hops > 0 {
			where = plural.Count(f.hops, "hop", "hops") + " from the region"
		}
		what := "a failure"
		if !f.Broke() {
			what = "an event"
		}
		return fmt.Sprintf("It follows %s at %s (%s, %s), %s%s.", what, topology.PortName(f.Device, f.Port),
			f.Kind.Words(), f.Time.Time().Format("15:04:05 UTC"), where, f.Flaps())
	case schema.CauseSlowHost:
		host := "A host"
		if root != nil && root.Kind == schema.RootSlowReceiver && root.Peer != "" {
			host = topology.PlainName(root.Peer)
		}
		return host + " does not drain its incoming traffic."
	}
	var accusations []string
	for i := range r.verdict.accused {
		accusations = append(accusations, r.accusation(&r.suspects[i], r.verdict.class, root))
	}
	return strings.Join(accusations, " ")
}

// failed says what failed and when.
func (r *report) failed(f *nearFailure) string {
	return fmt.Sprintf("%s failed (%s, %s%s)", topology.PortName(f.Device, f.Port), f.Kind.Words(),
		f.Time.Time().Format("15:04:05 UTC"), f.Flaps())
}

// silence says since when the failed parts that only counters show carry nothing.
func (r *report) silence(blamed int) string {
	var names []string
	for i := range blamed {
		if f := &r.failures[i]; f.silent != nil {
			names = append(names, topology.PortName(f.Device, f.Port))
		}
	}
	c := r.failures[0].silent
	carries, it := "carries", "it"
	if len(names) > 1 {
		carries, it = "carry", "them"
	}
	what := strings.Join(names, " and ")
	if len(names) > 2 {
		what = strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	why := ""
	if c.Waits {
		why = " while traffic waits in front of " + it
	}
	carries += " nothing"
	if c.Unread {
		carries = map[bool]string{true: "give no readings", false: "gives no readings"}[len(names) > 1]
	}
	kind := "probably down"
	switch {
	case len(names) > 1:
		kind = "one of them is probably down, and the others lost the traffic that it fed them"
	case c.Doubt > 0:
		kind = "possibly down"
	}
	return fmt.Sprintf("%s %s in either direction since %s%s: %s, although no log reports it.", what, carries,
		c.Time.Time().Format("15:04:05 UTC"), why, kind)
}

// accusation gives the evidence against a job.
func (r *report) accusation(c *suspect, class schema.CauseClass, root *schema.Root) string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(jobName(c.job)[:1]) + jobName(c.job)[1:])
	at := r.receiver(c, root)
	switch {
	case class != schema.CauseIntraApplication && c.loadsFiles():
		b.WriteString(" loads the region with its file traffic")
		if at != "" {
			b.WriteString(", of which more arrives at " + at + " than it accepts")
		}
		b.WriteString(".")
	case at != "" && class == schema.CauseIntraApplication:
		b.WriteString(" congests itself: its nodes send more to " + at + " than it accepts.")
	case at != "":
		b.WriteString(" loads the region: its nodes send more to " + at + " than it accepts.")
	case class == schema.CauseIntraApplication:
		b.WriteString(" congests itself: its traffic fills the links it stands on.")
	default:
		b.WriteString(" loads the region.")
	}
	if c.known && c.value > 0 {
		b.WriteString(trafficText(c, time.Duration(r.in.history.Clock.Duration)))
		if c.devs >= 1 {
			fmt.Fprintf(&b, ", %.1f deviations above the median of the jobs near it", c.devs)
		}
		if c.evidence.Correlation > correlation.Least && c.evidence.P < .2 {
			fmt.Fprintf(&b, "; correlation with the stall %.2f", c.evidence.Correlation)
			if c.evidence.Lag > 0 {
				fmt.Fprintf(&b, ", its traffic leading by %s",
					time.Duration(int64(c.evidence.Lag)*r.in.history.Clock.Duration))
			}
			fmt.Fprintf(&b, " (p %.2g)", c.evidence.P)
		}
		b.WriteString(".")
	}
	if c.evidence.started {
		b.WriteString(" It started just before the congestion began.")
	}
	return b.String()
}

// trafficText names the traffic that is the evidence against a job. Without values in the traffic table it is what the
// links of the job's hosts carried, which is no measurement of RDMA reads or file traffic.
func trafficText(c *suspect, interval time.Duration) string {
	t, value := c.job.Traffic, bytesText(c.value)+" in an interval of "+interval.String()
	switch name := strings.Replace(strings.ReplaceAll(strings.TrimSuffix(c.feature.String(), "_bytes"), "_", " "),
		"rdma", "RDMA", 1); {
	case t == nil || c.feature >= history.NumMeasured || t.Listed[c.feature]:
		return fmt.Sprintf(" Its %s traffic reached %s", name, value)
	case c.feature == history.RDMARead:
		return fmt.Sprintf(" By the counters of their links, its hosts received up to %s", value)
	case c.feature == history.RDMAWrite:
		return fmt.Sprintf(" By the counters of their links, its hosts sent up to %s", value)
	case c.feature == history.Read:
		return fmt.Sprintf(" By the counters of its hosts' links, up to %s came from outside the job", value)
	default:
		return fmt.Sprintf(" By the counters of its hosts' links, up to %s left the job", value)
	}
}

func bytesText(v float64) string {
	for _, u := range [...]struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= .9995*u.size { // three digits of less round up to 1e+03 of the next smaller unit
			return fmt.Sprintf("%.3g %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

// whyUnknown says why no cause was found.
func (r *report) whyUnknown() string {
	switch {
	case r.back.Root.Kind == schema.RootDeadlock:
		return "The cause is unknown."
	case len(r.suspects) == 0 && len(r.failures) == 0:
		return "No job and no failure is known near the region."
	case r.unlisted > 1 && r.unlisted > math.Exp(r.suspects[0].score):
		if r.scores().unaccountedAt(&r.suspects[0]) > 0 {
			return fmt.Sprintf("The hosts of %s, which fits best among the jobs, take in more than the traffic table "+
				"accounts for: a job that no table lists is on them, too.", jobName(r.suspects[0].job))
		}
		what := "have added more to its root than those"
		if !r.in.measuresLoad {
			what = "wait to send into it, too, beside those"
		}
		return fmt.Sprintf("Hosts of no listed job %s of %s, which fits best among the jobs.", what,
			jobName(r.suspects[0].job))
	case len(r.suspects) > 0 && r.suspects[0].score > 0:
		return fmt.Sprintf("Several causes fit equally well, %s among them.", jobName(r.suspects[0].job))
	}
	var near []string
	if n := len(r.suspects); n > 0 {
		near = append(near, plural.Count(n, "job", "jobs"))
	}
	if n := len(r.failures); n > 0 {
		near = append(near, plural.Count(n, "failure", "failures"))
	}
	if len(r.suspects)+len(r.failures) == 1 {
		return fmt.Sprintf("The %s near the region does not explain it.", strings.TrimPrefix(near[0], "1 "))
	}
	return fmt.Sprintf("None of the %s near the region explains it.", strings.Join(near, " and "))
}

// rootText says where back pressure begins by the reported root.
func (r *report) rootText(d *schema.Diagnosis) string {
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
	case root.Port == "" && !r.in.measuresLoad && r.in.router.Grid != nil:
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
	if r.back.HasRoot() && r.back.Root.Use >= 0 {
		use = fmt.Sprintf(", which carries %.0f%% of its capacity", r.back.Root.Use)
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
	case r.back.Root.IsFull():
		why = "the link is full because of load, not because of a fault"
	}
	return fmt.Sprintf(" Back pressure begins at %s%s: %s.", at, use, why)
}

// cableAt names a port and, if known, the other end of its cable: replacing it needs both.
func (r *report) cableAt(device, port string) string {
	d, known := r.in.graph.FindDevice(device)
	links, ok := r.in.graph.FindPort(device, port)
	if !known || !ok || links.Egress == schema.NoLink {
		return topology.PortName(device, port)
	}
	l := r.in.graph.Link(links.Egress)
	other, at := l.To, l.ToPort
	if l.From != d || l.FromPort != port { // one link stands for both directions
		other, at = l.From, l.FromPort
	}
	return topology.PortName(device, port) + " (to " + topology.PortName(r.in.graph.Device(other).Name, at) + ")"
}

func jobName(j *job) string { return schema.JobTitle(j.ID, j.Name) }

func (r *report) jobNames() string {
	var names []string
	for i := range r.verdict.accused {
		names = append(names, jobName(r.suspects[i].job))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
