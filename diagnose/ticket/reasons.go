package ticket

import (
	"fmt"
	"strings"
	"time"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Reasons gives the reasons of a verdict in sentences.
func (f *Finding) Reasons() string {
	switch f.Class {
	case schema.CauseUnknown:
		why := f.whyUnknown()
		if silent := f.Unknown.Silent; silent != "" {
			why += " " + topology.PlainName(silent) + ", to which its back pressure leads, reports no counters."
		}
		return why
	case schema.CauseFailure:
		return f.failure()
	case schema.CauseSlowHost:
		host := "A host"
		if f.Root != nil && f.Root.Kind == schema.RootSlowReceiver && f.Root.Peer != "" {
			host = topology.PlainName(f.Root.Peer)
		}
		return host + " does not drain its incoming traffic."
	}
	var accusations []string
	for i := range f.Accused {
		accusations = append(accusations, f.accusation(&f.Accused[i]))
	}
	reasons := strings.Join(accusations, " ")
	if f.Also != nil {
		reasons += fmt.Sprintf(" %s failed (%s, %s%s), and the back pressure leads to it: without that link the job's "+
			"traffic has less capacity.", topology.PortName(f.Also.Device, f.Also.Port), f.Also.Kind.Words(),
			f.Also.Time.Time().Format("15:04:05 UTC"), f.Also.Flaps())
	}
	return reasons
}

// failure names the failure that is blamed.
func (f *Finding) failure() string {
	switch {
	case len(f.Blamed) == 0 && !f.MeasuresLoad && !f.OnGrid:
		return "Of several equal ways only one cable holds back traffic, at both of its ends: it probably lost a part of " +
			"its rate. No log reports a failure."
	case len(f.Blamed) == 0:
		return "A link carries much less than before although traffic waits for it. No log reports a failure."
	}
	first := &f.Blamed[0]
	if first.Silent != nil {
		return f.silence()
	}
	where := "in the region"
	if first.Hops > 0 {
		where = plural.Count(first.Hops, "hop", "hops") + " from the region"
	}
	what := "a failure"
	if !first.Broke() {
		what = "an event"
	}
	return fmt.Sprintf("It follows %s at %s (%s, %s), %s%s.", what, topology.PortName(first.Device, first.Port),
		first.Kind.Words(), first.Time.Time().Format("15:04:05 UTC"), where, first.Flaps())
}

// silence says since when the failed parts that only counters show carry nothing.
func (f *Finding) silence() string {
	var names []string
	for i := range f.Blamed {
		if failed := &f.Blamed[i]; failed.Silent != nil {
			names = append(names, topology.PortName(failed.Device, failed.Port))
		}
	}
	c := f.Blamed[0].Silent
	carries, it := "carries nothing", "it"
	if len(names) > 1 {
		carries, it = "carry nothing", "them"
	}
	why := ""
	if c.Waits {
		why = " while traffic waits in front of " + it
	}
	switch {
	case c.Unread && len(names) > 1:
		carries = "give no readings"
	case c.Unread:
		carries = "gives no readings"
	}
	kind := "probably down"
	switch {
	case len(names) > 1:
		kind = "one of them is probably down, and the others lost the traffic that it fed them"
	case c.Doubt > 0:
		kind = "possibly down"
	}
	return fmt.Sprintf("%s %s in either direction since %s%s: %s, although no log reports it.", listed(names), carries,
		c.Time.Time().Format("15:04:05 UTC"), why, kind)
}

// accusation gives the evidence against a job.
func (f *Finding) accusation(j *Job) string {
	var b strings.Builder
	title := j.title()
	b.WriteString(strings.ToUpper(title[:1]) + title[1:])
	switch itself := f.Class == schema.CauseIntraApplication; {
	case !itself && j.Files:
		b.WriteString(" loads the region with its file traffic")
		if j.Receiver != "" {
			b.WriteString(", of which more arrives at " + j.Receiver + " than it accepts")
		}
		b.WriteString(".")
	case j.Receiver != "" && itself:
		b.WriteString(" congests itself: its nodes send more to " + j.Receiver + " than it accepts.")
	case j.Receiver != "":
		b.WriteString(" loads the region: its nodes send more to " + j.Receiver + " than it accepts.")
	case itself:
		b.WriteString(" congests itself: its traffic fills the links it stands on.")
	default:
		b.WriteString(" loads the region.")
	}
	if j.Value > 0 {
		b.WriteString(f.traffic(j))
		if j.Deviations >= 1 {
			fmt.Fprintf(&b, ", %.1f deviations above the median of the jobs near it", j.Deviations)
		}
		if j.Stall.Correlation > correlation.Least && j.Stall.P < .2 {
			fmt.Fprintf(&b, "; correlation with the stall %.2f", j.Stall.Correlation)
			if j.Stall.Lag > 0 {
				fmt.Fprintf(&b, ", its traffic leading by %s", time.Duration(j.Stall.Lag)*f.Interval)
			}
			fmt.Fprintf(&b, " (p %.2g)", j.Stall.P)
		}
		b.WriteString(".")
	}
	if j.Started {
		b.WriteString(" It started just before the congestion began.")
	}
	return b.String()
}

// traffic names the traffic that is the evidence against a job. Without values in the traffic table it is what the
// links of the job's hosts carried, which is no measurement of RDMA reads or file traffic.
func (f *Finding) traffic(j *Job) string {
	t, value := j.Traffic, bytesText(j.Value)+" in an interval of "+f.Interval.String()
	switch name := strings.Replace(strings.ReplaceAll(strings.TrimSuffix(j.Feature.String(), "_bytes"), "_", " "),
		"rdma", "RDMA", 1); {
	case t == nil || j.Feature >= history.NumMeasured || t.Listed[j.Feature]:
		return fmt.Sprintf(" Its %s traffic reached %s", name, value)
	case j.Feature == history.RDMARead:
		return fmt.Sprintf(" By the counters of their links, its hosts received up to %s", value)
	case j.Feature == history.RDMAWrite:
		return fmt.Sprintf(" By the counters of their links, its hosts sent up to %s", value)
	case j.Feature == history.Read:
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
func (f *Finding) whyUnknown() string {
	u := &f.Unknown
	likeliest := ""
	if u.Likeliest != nil {
		likeliest = schema.JobTitle(u.Likeliest.ID, u.Likeliest.Name)
	}
	switch {
	case f.Back.Root.Kind == schema.RootDeadlock:
		return "The cause is unknown."
	case u.Jobs == 0 && u.Failures == 0:
		return "No job and no failure is known near the region."
	case u.Others == OnItsHosts:
		return fmt.Sprintf("The hosts of %s, which fits best among the jobs, take in more than the traffic table "+
			"accounts for: a job that no table lists is on them, too.", likeliest)
	case u.Others == OfOtherJobs:
		return fmt.Sprintf("Hosts of other jobs send more of what arrives there than those of %s, which fits best among "+
			"the jobs: what runs on hosts of several jobs may be in no table.", likeliest)
	case u.Others == Unlisted && f.MeasuresLoad:
		return fmt.Sprintf("Hosts of no listed job have added more to its root than those of %s, which fits best "+
			"among the jobs.", likeliest)
	case u.Others == Unlisted:
		return fmt.Sprintf("Hosts of no listed job wait to send into it, too, beside those of %s, which fits best "+
			"among the jobs.", likeliest)
	case u.Fits:
		return fmt.Sprintf("Several causes fit equally well, %s among them.", likeliest)
	}
	var near []string
	if u.Jobs > 0 {
		near = append(near, plural.Count(u.Jobs, "job", "jobs"))
	}
	if u.Failures > 0 {
		near = append(near, plural.Count(u.Failures, "failure", "failures"))
	}
	if u.Jobs+u.Failures == 1 {
		return fmt.Sprintf("The %s near the region does not explain it.", strings.TrimPrefix(near[0], "1 "))
	}
	return fmt.Sprintf("None of the %s near the region explains it.", strings.Join(near, " and "))
}

// listed joins names: a, b and c.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
