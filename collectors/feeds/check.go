package feeds

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// Limits of names and texts in Kafka messages.
const (
	maxNameBytes = 256
	maxTextBytes = 4 << 10
)

// Clean makes a text valid UTF-8 on one line of at most n bytes: job names contain whatever users write. The result is a
// copy: jobs are kept for days, and would keep the line or the long name that theirs is a part of.
func Clean(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= n {
		return strings.Clone(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// CleanName is Clean for names of jobs and users.
func CleanName(s string) string { return Clean(s, maxNameBytes) }

// UnsendableID is what is wrong with an ID that is not Sendable.
const UnsendableID = "its id is empty, too long or has control characters"

// Sendable reports whether an ID can be sent: control characters in it would reach terminals and tickets.
func Sendable(id string) bool {
	return id != "" && len(id) <= maxNameBytes && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
}

// check returns the rows that are plausible and can be sent. It counts the others, in addition to the source's drops.
func check(rows *Rows, now time.Time, tolerance time.Duration) *Rows {
	out := &Rows{Drops: rows.Drops}
	latest := schema.InstantOf(now.Add(tolerance))
	for _, j := range rows.Jobs {
		where := fmt.Sprintf("job %.40q", j.ID)
		switch {
		case j.Start > latest || j.End > latest:
			out.Refuse(Future, where, Ahead(max(j.Start, j.End), tolerance))
		case j.End != 0 && j.End < j.Start:
			out.Refuse(Backwards, where, fmt.Sprintf("it ends at %v, before it starts at %v", j.End, j.Start))
		case j.Start <= 0:
			out.Refuse(NoTime, where, "no start time")
		case !Sendable(j.ID):
			out.Refuse(Unsendable, where, UnsendableID)
		default:
			j.Name, j.User, j.State = CleanName(j.Name), CleanName(j.User), CleanName(j.State)
			out.Jobs = append(out.Jobs, j)
		}
	}
	for _, f := range rows.Failures {
		where := fmt.Sprintf("%s of %.40q", f.Kind, f.Device)
		switch {
		case f.Time > latest:
			out.Refuse(Future, where, Ahead(f.Time, tolerance))
		case f.Time <= 0:
			out.Refuse(NoTime, where, "no time")
		case len(f.Device) > maxNameBytes || len(f.Port) > maxNameBytes || !utf8.ValidString(f.Device+f.Port):
			out.Refuse(Unsendable, where, "its device or port name is too long or not UTF-8")
		default:
			f.Detail = Clean(f.Detail, maxTextBytes)
			out.Failures = append(out.Failures, f)
		}
	}
	for _, t := range rows.Traffic {
		where := fmt.Sprintf("traffic of job %.40q", t.JobID)
		switch {
		case t.Time > latest:
			out.Refuse(Future, where, Ahead(t.Time, tolerance))
		case t.Time <= 0:
			out.Refuse(NoTime, where, "no time")
		case !Sendable(t.JobID):
			out.Refuse(Unsendable, where, UnsendableID)
		default:
			out.Traffic = append(out.Traffic, t)
		}
	}
	return out
}

// resolve returns the rows of each fabric, with device names. Rows for several fabrics (rails) go to each.
// Traffic has no devices and goes to all.
func resolve(r *nodes.Resolver, rows *Rows, missing nodes.Missing) []*Rows {
	fabrics := r.Fabrics()
	parts := make([]*Rows, len(fabrics))
	for i := range parts {
		parts[i] = &Rows{}
	}
	for _, j := range rows.Jobs {
		devices := r.Devices(j.Nodes, missing)
		if !slices.ContainsFunc(devices, func(d []string) bool { return len(d) > 0 }) {
			rows.Drop(NoDevice, 1)
			continue
		}
		for i, own := range devices {
			if len(own) > 0 {
				j.Fabric, j.Nodes = fabrics[i], own
				parts[i].Jobs = append(parts[i].Jobs, j)
			}
		}
	}
	for _, f := range rows.Failures {
		of, err := nodes.Expand([]string{f.Device})
		if err != nil {
			rows.Drop(Malformed, 1)
		}
		for _, device := range of {
			f.Device = device
			resolveFailure(r, f, parts, rows, missing)
		}
	}
	for _, t := range rows.Traffic {
		for i := range parts {
			t.Fabric = fabrics[i]
			parts[i].Traffic = append(parts[i].Traffic, t)
		}
	}
	return parts
}

func resolveFailure(r *nodes.Resolver, f schema.Failure, parts []*Rows, rows *Rows, missing nodes.Missing) {
	fabrics := r.Fabrics()
	if f.Device == "" { // concerns the whole fabric
		for i := range parts {
			f.Fabric = fabrics[i]
			parts[i].Failures = append(parts[i].Failures, f)
		}
		return
	}
	devices, reason := r.Device(f.Device)
	if reason != "" {
		missing.Add(f.Device, reason)
		rows.Drop(NoDevice, 1)
		return
	}
	placed := false
	for i, places := range r.FailedAt(devices, f) {
		for _, p := range places {
			at := f
			at.Fabric, at.Device, at.Port = fabrics[i], p.Device, p.Port
			if r.IsSwitch(i, p.Device) {
				at.Kind = ofSwitch(at.Kind)
			}
			parts[i].Failures = append(parts[i].Failures, at)
			placed = true
		}
	}
	if !placed {
		rows.Refuse(NoPort, fmt.Sprintf("%s of %.40q", f.Kind, f.Device), fmt.Sprintf("%.80q is not a port of its device in any of the fabrics, or is ambiguous", f.Port))
	}
}

// ofSwitch converts a node event to the switch event, for logs that cannot tell switches from nodes.
func ofSwitch(kind schema.EventKind) schema.EventKind {
	switch kind {
	case schema.NodeFailed:
		return schema.SwitchFailed
	case schema.NodeRestored:
		return schema.SwitchRestored
	}
	return kind
}
