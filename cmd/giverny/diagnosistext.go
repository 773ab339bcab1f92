package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/giverny/giverny/schema"
)

// diagnosisWriter prints diagnoses, those of an interval at a time; names are of regions, by id.
type diagnosisWriter interface {
	write(found []schema.Diagnosis, names map[uint64]string) error
	close() error
}

// diagnosisLines prints a line of JSON each.
type diagnosisLines struct{ out *bufio.Writer }

func (w *diagnosisLines) write(found []schema.Diagnosis, _ map[uint64]string) error {
	enc := json.NewEncoder(w.out)
	enc.SetEscapeHTML(false)
	for i := range found {
		if err := enc.Encode(&found[i]); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

func (w *diagnosisLines) close() error { return w.out.Flush() }

// diagnosisText prints a paragraph when the verdict on a region is new or another, and in the end a table
// with the verdict that each region had most often.
type diagnosisText struct {
	out     *bufio.Writer
	regions map[regionKey]*regionStory
	order   []*regionStory
}

type regionKey struct {
	id     uint64
	metric schema.Metric
}

// regionStory is what becomes of a region.
type regionStory struct {
	key       regionKey
	name      string
	from, to  schema.Instant
	intervals int
	worst     schema.Diagnosis
	last      string
	verdicts  map[string]*verdictCount
}

// verdictCount is how often a verdict was given, and the one with most confidence.
type verdictCount struct {
	times int
	best  schema.Diagnosis
}

func (w *diagnosisText) write(found []schema.Diagnosis, names map[uint64]string) error {
	for i := range found {
		d := &found[i]
		key := regionKey{d.Region, d.Metric}
		s := w.regions[key]
		if s == nil {
			s = &regionStory{key: key, name: names[d.Region], from: d.Time, verdicts: map[string]*verdictCount{}}
			w.regions[key] = s
			w.order = append(w.order, s)
		}
		s.add(d)
		if verdict := verdictKey(d); verdict != s.last {
			s.last = verdict
			w.paragraph(d, cmp.Or(names[d.Region], s.name))
		}
	}
	return w.out.Flush()
}

func (s *regionStory) add(d *schema.Diagnosis) {
	s.to = d.Time
	if s.intervals++; s.intervals == 1 || d.Mean > s.worst.Mean {
		s.worst = *d
	}
	v := s.verdicts[verdictKey(d)]
	if v == nil {
		v = &verdictCount{best: *d}
		s.verdicts[verdictKey(d)] = v
	}
	if v.times++; d.Cause.Confidence > v.best.Cause.Confidence {
		v.best = *d
	}
}

// usual is the verdict that was given most often.
func (s *regionStory) usual() *schema.Diagnosis {
	var most *verdictCount
	for _, name := range slices.Sorted(maps.Keys(s.verdicts)) {
		if v := s.verdicts[name]; most == nil || v.times > most.times {
			most = v
		}
	}
	return &most.best
}

// verdictKey is what makes a verdict another one: the class and the first accused.
func verdictKey(d *schema.Diagnosis) string {
	if len(d.Jobs) > 0 {
		return string(d.Cause.Class) + " " + d.Jobs[0].JobID
	}
	return string(d.Cause.Class)
}

func (w *diagnosisText) paragraph(d *schema.Diagnosis, name string) {
	where := ""
	if name != "" {
		where = " (" + name + ")"
	}
	fmt.Fprintf(w.out, "%s  region %d%s: %s, %s of %.1f%% over %d links\n", d.Time, d.Region, where, d.Severity, d.Metric, d.Mean, len(d.Links))
	fmt.Fprintf(w.out, "  cause: %s%s%s\n", d.Cause.Class, confidenceText(d.Cause, ", confidence "), rootText(d.Root))
	if d.Text != "" { // ends with the action
		fmt.Fprintf(w.out, "  %s\n", d.Text)
	}
	fmt.Fprintln(w.out)
}

// confidenceText is empty where no cause is known: what one would be sure of is then that nothing is known.
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
	text := "; begins at " + r.Device
	if r.Port != "" {
		text += " port " + r.Port
	}
	if r.Peer != "" {
		text += " to " + r.Peer
	}
	return text + " (" + r.Kind + ")"
}

// close prints the table.
func (w *diagnosisText) close() error {
	if len(w.order) == 0 {
		fmt.Fprintln(w.out, "No region at Low or above.")
		return w.out.Flush()
	}
	slices.SortStableFunc(w.order, func(a, b *regionStory) int { return cmp.Compare(a.from, b.from) })
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "region\tfrom\tto\tintervals\tworst\tmean %\tlinks\tcause\tconfidence\taccused")
	for _, s := range w.order {
		accused, usual := "-", s.usual()
		if len(usual.Jobs) > 0 {
			accused = "job " + schema.OneLine(usual.Jobs[0].JobID)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%.1f\t%d\t%s\t%s\t%s\n", s.key.id, s.from.Time().Format(time.DateTime), s.to.Time().Format(time.TimeOnly), s.intervals,
			s.worst.Severity, s.worst.Mean, len(s.worst.Links), usual.Cause.Class, cmp.Or(confidenceText(usual.Cause, ""), "-"), accused)
	}
	return cmp.Or(t.Flush(), w.out.Flush())
}
