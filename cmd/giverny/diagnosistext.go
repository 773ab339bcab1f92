package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// diagnosisWriter prints diagnoses, one interval at a time; names are region names by ID.
type diagnosisWriter interface {
	write(found []schema.Diagnosis, names map[uint64]string) error
	mitigated(events []schema.Event)  // prints, for people, what congestion protection did
	close(calm func(io.Writer)) error // calm prints, for people, what is known if there was no region
}

// diagnosisLines prints a line of JSON per diagnosis.
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

func (w *diagnosisLines) mitigated([]schema.Event) {}

func (w *diagnosisLines) close(func(io.Writer)) error { return w.out.Flush() }

// diagnosisText prints a paragraph when a region's verdict is new or has changed, shared by the regions of an
// interval with the same verdict, and at the end a table of the verdict that each region had most often at its worst
// severity.
type diagnosisText struct {
	out      *bufio.Writer
	interval time.Duration
	regions  map[regionKey]*regionStory
	order    []*regionStory
}

type regionKey struct {
	id     uint64
	metric schema.Metric
}

// regionStory is the history of a region.
type regionStory struct {
	key       regionKey
	name      string
	from, to  schema.Instant
	intervals int
	worst     schema.Diagnosis
	last      string
	verdicts  map[string]*verdictCount // in the intervals with the worst severity
}

// verdictCount is how often a verdict occurred, and its diagnosis with the highest confidence.
type verdictCount struct {
	times int
	best  schema.Diagnosis
}

func (w *diagnosisText) write(found []schema.Diagnosis, names map[uint64]string) error {
	var order []string
	fresh := map[string][]*schema.Diagnosis{} // keyed by the new verdict
	for i := range found {
		d := &found[i]
		key := regionKey{d.Region, d.Metric}
		s := w.regions[key]
		if s == nil {
			s = &regionStory{key: key, from: d.Time, verdicts: map[string]*verdictCount{}}
			w.regions[key] = s
			w.order = append(w.order, s)
		}
		s.name = cmp.Or(names[d.Region], s.name)
		s.add(d)
		verdict := verdictKey(d)
		if verdict == s.last {
			continue
		}
		s.last = verdict
		if accusedOf(d) == "" || s.name == "" { // a shared line would not say which region is meant
			verdict += fmt.Sprint(key)
		}
		if fresh[verdict] == nil {
			order = append(order, verdict)
		}
		fresh[verdict] = append(fresh[verdict], d)
	}
	for _, verdict := range order {
		w.paragraph(fresh[verdict])
	}
	return w.out.Flush()
}

func (w *diagnosisText) mitigated(events []schema.Event) {
	for i := range events {
		if e := &events[i]; e.Kind == schema.MitigationBegan || e.Kind == schema.MitigationEnded {
			fmt.Fprintf(w.out, "%s  %s\n\n", schema.Instant(e.TimeNanos), schema.OneLine(e.Detail))
		}
	}
}

func (s *regionStory) add(d *schema.Diagnosis) {
	s.to = d.Time
	s.intervals++
	switch {
	case s.intervals == 1 || d.Severity > s.worst.Severity:
		s.worst = *d
		clear(s.verdicts)
	case d.Severity < s.worst.Severity:
		return
	case d.Mean > s.worst.Mean:
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

// usual returns the most frequent verdict.
func (s *regionStory) usual() *schema.Diagnosis {
	var most *verdictCount
	for _, name := range slices.Sorted(maps.Keys(s.verdicts)) {
		if v := s.verdicts[name]; most == nil || v.times > most.times {
			most = v
		}
	}
	return &most.best
}

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

// paragraph prints a verdict for the worst of the regions that share it, and a line for each of the others.
func (w *diagnosisText) paragraph(same []*schema.Diagnosis) {
	slices.SortStableFunc(same, func(a, b *schema.Diagnosis) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Mean*float64(len(b.Links)), a.Mean*float64(len(a.Links))))
	})
	d := same[0]
	groups := w.byName(same)
	fmt.Fprintf(w.out, "%s  region %s\n", d.Time, w.headline(groups[0]))
	fmt.Fprintf(w.out, "  cause: %s%s%s\n", causeWords(d.Cause.Class), confidenceText(d.Cause, ", confidence "), rootText(d.Root))
	if d.Text != "" { // ends with the action
		fmt.Fprintf(w.out, "  %s\n", d.Text)
	}
	if len(groups) > 1 {
		fmt.Fprintln(w.out, "  The same verdict on:")
	}
	for _, of := range groups[1:] {
		fmt.Fprintf(w.out, "    region %s%s%s\n", w.headline(of), confidenceText(of[0].Cause, ", confidence "), rootText(of[0].Root))
	}
	fmt.Fprintln(w.out)
}

// byName groups regions with the same name: regions of two metrics at the same place, such as the pauses that one end
// of links sends and the other receives.
func (w *diagnosisText) byName(same []*schema.Diagnosis) (groups [][]*schema.Diagnosis) {
	at := map[string]int{}
	for _, d := range same {
		name := w.regions[regionKey{d.Region, d.Metric}].name
		i, known := at[name]
		if !known || name == "" {
			i = len(groups)
			at[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
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

// headline is the location and severity of regions with one name.
func (w *diagnosisText) headline(of []*schema.Diagnosis) string {
	d, where := of[0], ""
	if name := w.regions[regionKey{d.Region, d.Metric}].name; name != "" {
		where = " (" + schema.OneLine(name) + ")"
	}
	text := fmt.Sprintf("%d%s: %s, %s of %.1f%% over %s", d.Region, where, d.Severity, d.Metric, d.Mean, plural.Count(len(d.Links), "link", "links"))
	for _, twin := range of[1:] {
		text += fmt.Sprintf("; by %s region %d", twin.Metric, twin.Region)
	}
	return text
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

// close prints the table.
func (w *diagnosisText) close(calm func(io.Writer)) error {
	if len(w.order) == 0 {
		fmt.Fprintln(w.out, "No region at Low or above.")
		calm(w.out)
		return w.out.Flush()
	}
	slices.SortStableFunc(w.order, func(a, b *regionStory) int { return cmp.Compare(a.from, b.from) })
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "region\tfrom (UTC)\tto (UTC)\tintervals\tworst\tmean %\tlinks\tcause\tconfidence\taccused")
	for _, s := range w.order {
		usual := s.usual()
		from, to := s.from.Time(), s.to.Time().Add(w.interval)
		layout := time.TimeOnly
		if from.Truncate(24*time.Hour) != to.Truncate(24*time.Hour) {
			layout = time.DateTime
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%.1f\t%d\t%s\t%s\t%s\n", s.key.id, from.Format(time.DateTime), to.Format(layout), s.intervals,
			s.worst.Severity, s.worst.Mean, len(s.worst.Links), causeWords(usual.Cause.Class), cmp.Or(confidenceText(usual.Cause, ""), "-"), cmp.Or(accusedOf(usual), "-"))
	}
	return cmp.Or(t.Flush(), w.out.Flush())
}
