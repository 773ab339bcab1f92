// Package listing prints what a search finds while it runs, as JSON lines or as text, and its progress.
package listing

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/search/run"
)

// Listing prints a search as JSON or text.
type Listing struct {
	out   io.Writer
	json  bool
	found []run.Finding // confirmed findings
}

// New returns a listing.
func New(out io.Writer, asJSON bool) *Listing {
	return &Listing{out: out, json: asJSON}
}

func (w *Listing) line(v any) error { return json.NewEncoder(w.out).Encode(v) }

// Known prints the known anomalies that overlap a space.
func (w *Listing) Known(list []*search.MFS) error {
	for _, mfs := range list {
		var err error
		if w.json {
			err = w.line(struct {
				Type string      `json:"type"`
				MFS  *search.MFS `json:"mfs"`
			}{"known", mfs})
		} else if len(mfs.Conditions()) == 0 {
			_, err = fmt.Fprintln(w.out, "known: every workload of this space is anomalous")
		} else {
			_, err = fmt.Fprintf(w.out, "known: %s\n", mfs)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 && !w.json {
		_, err := fmt.Fprintln(w.out, "No known anomaly overlaps this space.")
		return err
	}
	return nil
}

// Finding prints a finding.
func (w *Listing) Finding(f run.Finding) error {
	if w.json {
		return w.line(f)
	}
	a := &f.Anomaly
	at := slices.IndexFunc(w.found, func(o run.Finding) bool { return o.Anomaly.Experiment == a.Experiment })
	var err error
	switch {
	case a.MFS == nil:
		w.found = slices.DeleteFunc(w.found, func(o run.Finding) bool { return o.Anomaly.Experiment == a.Experiment })
		_, err = fmt.Fprintf(w.out, "experiment %d: withdrawn: the anomaly of experiment %d\n", f.Revised, a.Experiment)
	case at >= 0:
		w.found[at] = f
		_, err = fmt.Fprintf(w.out, "experiment %d: revised: the anomaly of experiment %d: %s\n", f.Revised, a.Experiment, w.sentence(f))
	default:
		w.found = append(w.found, f)
		_, err = fmt.Fprintf(w.out, "experiment %d: found: %s\n", a.Experiment, w.sentence(f))
	}
	return err
}

func (w *Listing) sentence(f run.Finding) string {
	return report.Sentence(f.Anomaly.MFS.Conditions(), f.Anomaly.Symptom, f.Shown)
}

// Summary prints the end of the report.
func (w *Listing) Summary(s run.Summary) error {
	if w.json {
		return w.line(s)
	}
	if len(w.found) > 0 {
		slices.SortFunc(w.found, func(a, b run.Finding) int { return a.Anomaly.Experiment - b.Anomaly.Experiment })
		fmt.Fprintln(w.out)
		table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "experiment\tafter\tanomaly")
		for _, f := range w.found {
			fmt.Fprintf(table, "%d\t%.1f h\t%s\n", f.Anomaly.Experiment, f.Anomaly.Seconds/3600, w.sentence(f))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w.out, "\n%s in %s, of which %d failed (%.1f h).\n", plural.Count(s.Anomalies, "anomaly", "anomalies"),
		plural.Count(s.Experiments, "experiment", "experiments"), s.Failed, s.Seconds/3600)
	return err
}

// Matches prints the known anomalies triggered by a workload.
func (w *Listing) Matches(list []search.Match, untested []search.Untested, known int) error {
	if w.json {
		for _, m := range list {
			if err := w.line(m); err != nil {
				return err
			}
		}
		return w.line(struct {
			Type     string            `json:"type"`
			Known    int               `json:"known"`
			Matches  int               `json:"matches"`
			Untested []search.Untested `json:"untested,omitempty"`
		}{"summary", known, len(list), untested})
	}
	for i := range untested {
		fmt.Fprintln(w.out, untestedText(&untested[i]))
	}
	for _, m := range list {
		fmt.Fprintf(w.out, "It triggers: %s\n", m.MFS)
		for _, c := range m.Changes {
			fmt.Fprintf(w.out, "  %s %s avoids it%s\n", c.Dimension, joinValues(c.To), meetsText(c.Meets))
		}
	}
	_, err := fmt.Fprintf(w.out, "%d of %d known anomalies.\n", len(list), known)
	return err
}

// untestedText describes where a value lies relative to the tested ones.
func untestedText(u *search.Untested) string {
	text := u.Dimension + " " + u.Value.String()
	switch {
	case u.Above == nil:
		return fmt.Sprintf("%s lies below all tested values: the least is %s.", text, u.Below)
	case u.Below == nil:
		return fmt.Sprintf("%s lies above all tested values: the greatest is %s.", text, u.Above)
	}
	return fmt.Sprintf("%s lies between the tested values %s and %s: an anomaly that only one of them triggers may begin anywhere between.", text, u.Above, u.Below)
}

func joinValues(values []search.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return strings.Join(texts, ", ")
}

func meetsText(meets []*search.MFS) string {
	if len(meets) == 0 {
		return ""
	}
	texts := make([]string, len(meets))
	for i, mfs := range meets {
		texts[i] = mfs.String()
	}
	return ", and then triggers: " + strings.Join(texts, "; ")
}
