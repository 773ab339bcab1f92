package listing

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// Listing prints diagnoses as JSON lines or, for people, a paragraph when a region's verdict is new or has changed, shared
// by the regions of an interval with the same verdict, and at the end a table of the verdict that each region had most
// often at its worst severity.
type Listing struct {
	out      *bufio.Writer
	json     bool
	interval time.Duration
	regions  map[regionKey]*regionStory
	order    []*regionStory
}

// New returns a listing of intervals of a length.
func New(w io.Writer, asJSON bool, interval time.Duration) *Listing {
	return &Listing{out: bufio.NewWriter(w), json: asJSON, interval: interval, regions: map[regionKey]*regionStory{}}
}

// Write prints the diagnoses of an interval, for people only those whose verdicts are new; names are names of regions by ID.
func (w *Listing) Write(found []schema.Diagnosis, names map[uint64]string) error {
	if w.json {
		return w.lines(found)
	}
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

func (w *Listing) lines(found []schema.Diagnosis) error {
	enc := json.NewEncoder(w.out)
	enc.SetEscapeHTML(false)
	for i := range found {
		if err := enc.Encode(&found[i]); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// Mitigated prints, for people, what congestion protection did.
func (w *Listing) Mitigated(events []schema.Event) {
	for i := range events {
		if e := &events[i]; !w.json && (e.Kind == schema.MitigationBegan || e.Kind == schema.MitigationEnded) {
			fmt.Fprintf(w.out, "%s  %s\n\n", schema.Instant(e.TimeNanos), schema.OneLine(e.Detail))
		}
	}
}

// paragraph prints a verdict for the worst of the regions that share it, and a line for each of the others.
func (w *Listing) paragraph(same []*schema.Diagnosis) {
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
func (w *Listing) byName(same []*schema.Diagnosis) (groups [][]*schema.Diagnosis) {
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

// headline is the location and severity of regions with one name.
func (w *Listing) headline(of []*schema.Diagnosis) string {
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

// Close prints, for people, the table, or if there was no region what calm prints.
func (w *Listing) Close(calm func(io.Writer)) error {
	if w.json {
		return nil
	}
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
