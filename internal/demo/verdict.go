package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// standsAfter is for how many consecutive intervals a verdict must be the same before it is printed (debounce).
const standsAfter = 4

// verdict is the state of a region's verdict.
type verdict struct {
	latest string // the verdict of its last interval
	times  int    // consecutive intervals with that verdict
	said   string // the verdict printed last
}

// verdicts prints why the announced regions are congested: a verdict that has been stable for a few intervals,
// and again only if it changes. Regions with the same verdict share a line.
func (p *Printer) verdicts(r *schema.IntervalResult) {
	for i := range r.Jobs {
		p.names[r.Jobs[i].ID] = r.Jobs[i].Name
	}
	for _, e := range r.Events {
		switch markOf(e.Kind) {
		case "+":
			p.announced[e.RegionID] = true
		case "-":
			delete(p.announced, e.RegionID)
		}
	}
	for id := range p.regions { // a region that ended or has no verdict starts over
		if !slices.ContainsFunc(r.Diagnoses, func(d schema.Diagnosis) bool { return d.Region == id }) {
			delete(p.regions, id)
		}
	}
	var lines []string
	of := map[string][]uint64{} // regions, by line
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		v := p.regions[d.Region]
		if v == nil {
			v = new(verdict)
			p.regions[d.Region] = v
		}
		because := p.becauseOf(d)
		if because != v.latest {
			v.latest, v.times = because, 0
		}
		if v.times++; v.times < standsAfter || v.said == because || !p.announced[d.Region] || d.Cause.Class == schema.CauseUnknown {
			continue
		}
		v.said = because
		if d.Root != nil && d.Cause.Class != schema.CauseFailure {
			because += ", back pressure begins at " + topology.PortName(d.Root.Device, d.Root.Port)
		}
		line := fmt.Sprintf("%s; %s. %.0f%% sure", because, p.adviceOf(d), d.Cause.Percent())
		if of[line] == nil {
			lines = append(lines, line)
		}
		of[line] = append(of[line], d.Region)
	}
	for _, line := range lines {
		p.line(r.Snapshot.Interval.EndNanos(), "?", "%s %v", line, of[line])
	}
}

// becauseOf summarises a diagnosis in half a line, without its numbers and its root; the page has the full text.
func (p *Printer) becauseOf(d *schema.Diagnosis) string {
	switch {
	case d.Cause.Class == schema.CauseFailure && len(d.Failures) > 0:
		f := &d.Failures[0]
		return f.Kind.Words() + " at " + topology.PortName(f.Device, f.Port)
	case d.Cause.Class == schema.CauseFailure:
		return "a link carries less than before"
	case d.Cause.Class == schema.CauseSlowHost:
		return "a host does not drain its incoming traffic"
	case len(d.Jobs) == 0:
		return d.Cause.Class.Words()
	}
	traffic := "its traffic"
	if name := trafficNames[d.Jobs[0].Feature]; name != "" {
		traffic = "its " + name
	}
	if d.Cause.Class == schema.CauseIntraApplication {
		return p.jobName(d.Jobs[0].JobID) + ": " + traffic + " fills the links it stands on"
	}
	return p.jobName(d.Jobs[0].JobID) + ": " + traffic + " loads the region"
}

// trafficNames describe the features of a job's traffic.
var trafficNames = map[string]string{
	"read_bytes": "reading from the file system", "write_bytes": "writing to the file system",
	"rdma_read_bytes": "RDMA read traffic", "rdma_write_bytes": "RDMA write traffic",
}

func (p *Printer) jobName(id string) string { return schema.JobTitle(id, p.names[id]) }

// adviceOf is the first clause of a diagnosis's action, with "it" for the job named earlier in the line.
func (p *Printer) adviceOf(d *schema.Diagnosis) string {
	action := d.Action
	if len(d.Jobs) == 1 {
		job := p.jobName(d.Jobs[0].JobID)
		action = strings.NewReplacer("the owner of "+job, "its owner", "the ranks of "+job, "its ranks", job, "it").Replace(action)
	}
	for _, end := range []string{"; ", ", or ", ". "} {
		action, _, _ = strings.Cut(action, end)
	}
	first, size := utf8.DecodeRuneInString(action)
	return string(unicode.ToLower(first)) + strings.TrimSuffix(action[size:], ".")
}
