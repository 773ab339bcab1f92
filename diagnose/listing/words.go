package listing

import (
	"cmp"
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// verdictKey identifies a verdict: the class and the first accused.
func verdictKey(d *schema.Diagnosis) string { return string(d.Cause.Class) + " " + accusedOf(d) }

// accusedOf names what a verdict accuses: a job, what failed, or the slow host; empty if nothing.
func accusedOf(d *schema.Diagnosis) string {
	switch {
	case len(d.Jobs) > 0:
		return "job " + schema.OneLine(d.Jobs[0].JobID)
	case d.Cause.Class == schema.CauseFailure && len(d.Failures) > 0:
		return schema.OneLine(topology.PortName(d.Failures[0].Device, d.Failures[0].Port))
	case d.Root == nil:
	case d.Cause.Class == schema.CauseFailure:
		return schema.OneLine(topology.PortName(d.Root.Device, d.Root.Port))
	case d.Cause.Class == schema.CauseSlowHost:
		return schema.OneLine(cmp.Or(d.Root.Peer, d.Root.Device))
	}
	return ""
}

// causeWords describes a class in words.
func causeWords(class schema.CauseClass) string {
	switch class {
	case schema.CauseSystem:
		return "load of jobs"
	case schema.CauseIntraApplication:
		return "a job congests itself"
	}
	return class.Words()
}

// confidenceText is empty for an unknown cause: the confidence would refer to not knowing.
func confidenceText(c schema.Cause, before string) string {
	if c.Class == schema.CauseUnknown {
		return ""
	}
	return fmt.Sprintf("%s%.0f%%", before, c.Percent())
}

func rootText(r *schema.Root) string {
	if r == nil {
		return ""
	}
	if r.Kind == "" { // a guess
		return schema.OneLine("; may begin at " + topology.PortName(r.Device, r.Port))
	}
	text := "; begins at " + topology.PortName(r.Device, r.Port)
	if r.Peer != "" {
		text += " to " + topology.PortName(r.Peer, "")
	}
	return schema.OneLine(text) + " (" + r.Kind + ")"
}
