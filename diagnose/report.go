package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// report writes a verdict in the form of interfaces.md.
func (s *Stage) report(snap *schema.Snapshot, rc *regionCase, v *verdict) schema.Diagnosis {
	region := rc.region
	d := schema.Diagnosis{Fabric: snap.Fabric, Time: schema.Instant(snap.Interval.StartNanos), Region: region.ID,
		Metric: region.Metric, Severity: region.Severity, Links: slices.Clone(region.Links), Mean: region.Mean,
		Cause: schema.Cause{Class: v.class, Confidence: v.confidence}, Jobs: []schema.AccusedJob{}, Failures: []schema.NearFailure{}, Victims: []schema.VictimJob{}}
	seconds := float64(snap.Interval.DurationNanos) / 1e9
	for i := range v.accused {
		c := &rc.jobs[i]
		a := schema.AccusedJob{JobID: c.job.ID, Blame: c.blame, Value: c.value, Deviations: c.devs,
			Correlation: c.correlation, LagSeconds: float64(c.lag) * seconds, PValue: c.p}
		if c.known {
			a.Feature = c.feature.String()
		}
		d.Jobs = append(d.Jobs, a)
	}
	for i := range v.blamed {
		f := &rc.failures[i]
		d.Failures = append(d.Failures, schema.NearFailure{Time: f.Time, Kind: f.Kind, Device: f.Device, Port: f.Port, Hops: f.hops})
	}
	d.Root = s.rootPort(rc, v)
	d.Victims = s.victims(rc, v)
	d.Action = schema.OneLine(s.action(rc, v))
	because := s.hold(rc, s.because(rc, v), &d)
	d.Text = schema.OneLine(s.text(rc, because, &d))
	return d
}

// rootPort names the root: of a failure the port that failed, else where back pressure begins.
func (s *Stage) rootPort(rc *regionCase, v *verdict) *schema.RootPort {
	if v.class == schema.CauseFailure && v.blamed > 0 {
		f := &rc.failures[0]
		if len(f.links) > 0 && f.Port != "" {
			return s.portOf(f.links[0], f.Device, linkDown)
		}
		return &schema.RootPort{Device: f.Device, Port: f.Port, Kind: linkDown}
	}
	if rc.back.kind == "" && rc.back.waits {
		if port := s.onlyReceiver(rc, v); port != nil {
			return port
		}
	}
	if rc.back.kind == "" && rc.back.as != "" {
		return s.portOf(rc.back.leading, "", rc.back.as)
	}
	if rc.back.kind == "" {
		return s.centreRoot(rc, v)
	}
	kind := rc.back.kind
	if kind == slowReceiver && rc.back.use < 0 && v.accused > 0 {
		kind = incast // what it carries is not known; that a job loads it is
	}
	return s.portOf(rc.back.link, "", kind)
}

// onlyReceiver is the port to the one host of the accused at the switch where the stall ends, if there is one
// and nothing else says which port is full.
func (s *Stage) onlyReceiver(rc *regionCase, v *verdict) *schema.RootPort {
	if v.accused == 0 {
		return nil
	}
	only := schema.NoLink
	for _, d := range rc.jobs[0].job.devices {
		for _, l := range s.graph.LinksAt(d) {
			if from, to := s.graph.Ends(l); to != d || from != rc.back.at {
				continue
			}
			if only != schema.NoLink {
				return nil
			}
			only = l
		}
	}
	if only == schema.NoLink {
		return nil
	}
	return s.portOf(only, "", incast)
}

// centreRoot is the root on a grid, whose links know no direction: the link that packets wait for; or the switch
// on which traffic converges; or the full link that most waits for; or the switch around which the stall lies, if
// it lies around one.
func (s *Stage) centreRoot(rc *regionCase, v *verdict) *schema.RootPort {
	if !s.graph.Duplex() {
		return nil
	}
	kind := incast
	if v.class == schema.CauseSlowHost {
		kind = slowReceiver
	}
	switch {
	case rc.neck.before(&rc.drain):
		return s.portOf(rc.neck.link, s.graph.Device(rc.neck.tail).Name, linkCapacity)
	case rc.drain.fit >= drainFit:
		return &schema.RootPort{Device: s.graph.Device(rc.drain.device).Name, Kind: kind}
	case rc.full != schema.NoLink && v.class != schema.CauseSlowHost:
		return s.portOf(rc.full, "", linkCapacity)
	case rc.centre.clear && v.class != schema.CauseUnknown:
		return &schema.RootPort{Device: s.graph.Device(rc.centre.device).Name, Kind: kind}
	}
	return nil
}

// portOf is the port that a link leaves; of a duplex link the end at a device.
func (s *Stage) portOf(id schema.LinkID, device, kind string) *schema.RootPort {
	l := s.graph.Link(id)
	from, to := s.graph.Device(l.From), s.graph.Device(l.To)
	if device != "" && to.Name == device {
		return &schema.RootPort{Device: to.Name, Port: l.ToPort, Peer: from.Name, Kind: kind}
	}
	return &schema.RootPort{Device: from.Name, Port: l.FromPort, Peer: to.Name, Kind: kind}
}

// maxStall is the stall beyond which a slowdown is not told any more, share of time.
const maxStall = .95

// victims are the jobs whose traffic crosses the region's links and that are not accused: where a share s of
// the time is spent waiting, what crosses takes 1/(1-s) as long. The lower bound takes the mean stall of the
// region's links that the job uses, by the share of its traffic that is there; the upper bound the worst of
// them, as if all messages waited for it.
func (s *Stage) victims(rc *regionCase, v *verdict) []schema.VictimJob {
	out := []schema.VictimJob{}
	for i := range rc.jobs {
		c := &rc.jobs[i]
		if i >= v.accused && c.worst >= schema.LowPercent/100. {
			out = append(out, schema.VictimJob{JobID: c.job.ID, Slowdown: [2]float64{1 / (1 - min(c.worst, c.waits)), 1 / (1 - c.worst)}})
		}
	}
	slices.SortStableFunc(out, func(a, b schema.VictimJob) int {
		switch {
		case a.Slowdown[1] > b.Slowdown[1]:
			return -1
		case a.Slowdown[1] < b.Slowdown[1]:
			return 1
		}
		return strings.Compare(a.JobID, b.JobID)
	})
	return out[:min(len(out), s.cfg.MaxListed)]
}

// action is what section 5.4 of Monet recommends for a cause.
func (s *Stage) action(rc *regionCase, v *verdict) string {
	switch v.class {
	case schema.CauseIntraApplication:
		name := jobName(rc.jobs[0].job)
		if s.spreadOut(rc.jobs[0].job) {
			return "Place " + name + " in a compact block at its next start, or remap its ranks (TopoMapping) now; if it happens often, re-engineer its communication."
		}
		return "Remap the ranks of " + name + " so that neighbours in its communication are neighbours in the network (TopoMapping); if it happens often, re-engineer its communication."
	case schema.CauseSystem:
		if v.accused > 1 {
			return "Place " + jobNames(rc, v) + " apart from each other at their next start; hold back new jobs near the region until it has dissolved."
		}
		c := &rc.jobs[0]
		if c.file || c.known && c.feature == rdmaRead && c.cross < ownShare {
			return "Ask the owner of " + jobName(c.job) + " to spread or limit its file traffic (more stripes, fewer readers at once); place jobs away from its routes to the storage nodes until then."
		}
		return "Place " + jobName(c.job) + " away from the jobs that it disturbs at its next start; if it happens often, re-engineer its communication."
	case schema.CauseFailure:
		if v.blamed == 0 {
			l := s.graph.Link(rc.slowLink())
			return "Check the cable at " + portName(s.graph.Device(l.From).Name, l.FromPort) + " (width, speed, symbol errors), and replace it; place no communication-intensive job near it until then."
		}
		f := &rc.failures[0]
		if f.Port != "" {
			return "Replace or reseat the cable at " + portName(f.Device, f.Port) + "; place no communication-intensive job near it until then."
		}
		return "Repair " + f.Device + "; place no communication-intensive job near it until then."
	case schema.CauseSlowHost:
		if rc.back.kind != "" {
			_, to := s.graph.Ends(rc.back.link)
			return "Probe " + s.graph.Device(to).Name + " (giverny hostping): drain it if its NIC or PCIe cannot take what arrives."
		}
		return "Probe the hosts of the region (giverny hostping) and drain the one that cannot take what arrives."
	}
	if rc.back.kind == deadlock {
		return "Break the cycle: take one of its links down, or let the PFC watchdog of a switch on it drop; then check the routes for turns that go down and up again."
	}
	return "Watch the region; look for jobs that the scheduler does not report and for events that no log brought."
}

// spreadOut reports whether a job's nodes are not one block.
func (s *Stage) spreadOut(j *job) bool {
	if s.graph.Grid() == nil || s.router.grid == nil {
		return len(j.devices) > 1
	}
	volume := 1
	for dim, size := range s.graph.Grid().Dims {
		seen := make([]bool, size)
		n := 0
		for _, d := range j.devices {
			if x := s.graph.Device(d).Coord[dim]; !seen[x] {
				seen[x] = true
				n++
			}
		}
		volume *= n
	}
	return volume > len(j.devices)
}

func jobName(j *job) string {
	if j.Name == "" {
		return "job " + j.ID
	}
	return fmt.Sprintf("job %s (%s)", j.ID, j.Name)
}

func jobNames(rc *regionCase, v *verdict) string {
	var names []string
	for i := range v.accused {
		names = append(names, jobName(rc.jobs[i].job))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func portName(device, port string) string {
	if port == "" {
		return device
	}
	return device + " port " + port
}

// text is a paragraph for a ticket.
func (s *Stage) text(rc *regionCase, because string, d *schema.Diagnosis) string {
	var b strings.Builder
	name := rc.region.Name
	if name == "" {
		name = s.graph.DescribeRegion(rc.region)
	}
	if !strings.HasPrefix(name, "congestion") && !strings.HasPrefix(name, "incast") { // some names say so themselves
		name = "congestion in " + name
	}
	fmt.Fprintf(&b, "%s %s: %d links stall for %.0f%% of the time in the mean. %s", rc.region.Severity, name, len(rc.region.Links), rc.region.Mean, because)
	b.WriteString(s.rootText(rc, d))
	if n := len(d.Victims); n > 0 {
		fmt.Fprintf(&b, " It slows down %s, the worst (job %s) by a factor of %.1f to %.1f.", plural(n, "other job"), d.Victims[0].JobID, d.Victims[0].Slowdown[0], d.Victims[0].Slowdown[1])
	}
	fmt.Fprintf(&b, " Confidence %.0f%%. %s", 100*d.Cause.Confidence, d.Action)
	return b.String()
}

// because says in sentences what speaks for a verdict.
func (s *Stage) because(rc *regionCase, v *verdict) string {
	switch v.class {
	case schema.CauseUnknown:
		return s.whyUnknown(rc)
	case schema.CauseFailure:
		if v.blamed == 0 {
			return "A link carries clearly less than before while traffic waits for it; no log tells of a failure."
		}
		f := &rc.failures[0]
		return fmt.Sprintf("It follows %s at %s, %s, %s away.", strings.ReplaceAll(string(f.Kind), "_", " "), portName(f.Device, f.Port),
			f.Time.Time().Format("15:04:05 UTC"), plural(f.hops, "hop"))
	case schema.CauseSlowHost:
		return "A host does not take what arrives."
	}
	var accusations []string
	for i := range v.accused {
		accusations = append(accusations, s.accusation(rc, &rc.jobs[i], v.class))
	}
	return strings.Join(accusations, " ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// accusation says what speaks against a job.
func (s *Stage) accusation(rc *regionCase, c *suspect, class schema.CauseClass) string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(jobName(c.job)[:1]) + jobName(c.job)[1:])
	if class == schema.CauseIntraApplication {
		b.WriteString(" is in its own way: its traffic fills the links it stands on.")
	} else {
		b.WriteString(" loads the region.")
	}
	if c.known {
		fmt.Fprintf(&b, " Its %s reached %s per interval", strings.ReplaceAll(strings.TrimSuffix(c.feature.String(), "_bytes"), "_", " "), bytesText(c.value))
		if c.devs >= 1 {
			fmt.Fprintf(&b, ", %.1f deviations above the median of the jobs near", c.devs)
		}
		if c.correlation > leastCorrelation && c.p < .2 {
			fmt.Fprintf(&b, "; correlation with the stall %.2f", c.correlation)
			if c.lag > 0 {
				fmt.Fprintf(&b, ", %s earlier", time.Duration(int64(c.lag)*s.clock.duration))
			}
			fmt.Fprintf(&b, " (p %.2g)", c.p)
		}
		b.WriteString(".")
	}
	if c.started {
		b.WriteString(" It began just before the congestion did.")
	}
	return b.String()
}

func bytesText(v float64) string {
	for _, u := range [...]struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.size {
			return fmt.Sprintf("%.3g %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

// whyUnknown says what is missing.
func (s *Stage) whyUnknown(rc *regionCase) string {
	switch {
	case rc.back.kind == deadlock:
		return "No cause is known."
	case len(rc.jobs) == 0 && len(rc.failures) == 0:
		return "No job and no failure is known near it."
	case len(rc.jobs) > 0 && rc.jobs[0].score > 0:
		return fmt.Sprintf("Several causes fit as well as each other, %s among them.", jobName(rc.jobs[0].job))
	}
	var near []string
	if n := len(rc.jobs); n > 0 {
		near = append(near, plural(n, "job"))
	}
	if n := len(rc.failures); n > 0 {
		near = append(near, plural(n, "failure"))
	}
	return fmt.Sprintf("None of the %s near it explains it.", strings.Join(near, " and "))
}

// rootText says where back pressure begins, of the root that is reported.
func (s *Stage) rootText(rc *regionCase, d *schema.Diagnosis) string {
	root := d.Root
	switch {
	case rc.back.kind == deadlock && d.Cause.Class != schema.CauseFailure:
		var names []string
		for _, l := range rc.back.cycle {
			key := s.graph.PortKey(l)
			names = append(names, portName(key.Device, key.Port))
		}
		return " Possible deadlock: each of these ports waits for the next, and the last for the first: " + strings.Join(names, ", ") + "."
	case root == nil, len(d.Failures) > 0: // what failed has been named
		return ""
	case root.Port == "":
		return fmt.Sprintf(" Back pressure begins at %s: more arrives for it than it takes in.", root.Device)
	}
	at, use := portName(root.Device, root.Port)+" to "+root.Peer, ""
	if rc.back.kind != "" && rc.back.use >= 0 {
		use = fmt.Sprintf(", which carries %.0f%% of its capacity", rc.back.use)
	}
	switch root.Kind {
	case incast:
		return fmt.Sprintf(" Back pressure begins at %s%s: more arrives for it than it can deliver (incast).", at, use)
	case slowReceiver:
		return fmt.Sprintf(" Back pressure begins at %s%s: the receiver does not drain.", at, use)
	case linkDown:
		return fmt.Sprintf(" Back pressure begins at %s, which is down.", at)
	}
	return fmt.Sprintf(" Back pressure begins at %s%s: the link is too slow for what must cross it.", at, use)
}
