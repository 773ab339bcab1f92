package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/search/run"
)

// searchWriter prints a search as JSON or text.
type searchWriter struct {
	out   io.Writer
	json  bool
	found []run.Finding // confirmed findings
}

func newSearchWriter(out io.Writer, asJSON bool) *searchWriter {
	return &searchWriter{out: out, json: asJSON}
}

func (w *searchWriter) line(v any) error { return json.NewEncoder(w.out).Encode(v) }

// known prints the known anomalies that overlap a space.
func (w *searchWriter) known(list []*search.MFS) error {
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

// finding prints a finding.
func (w *searchWriter) finding(f run.Finding) error {
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

func (w *searchWriter) sentence(f run.Finding) string {
	return report.Sentence(f.Anomaly.MFS.Conditions(), f.Anomaly.Symptom, f.Shown)
}

// summary prints the end of the report.
func (w *searchWriter) summary(s run.Summary) error {
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

// matches prints the known anomalies triggered by a workload.
func (w *searchWriter) matches(list []match, untested []search.Untested, known int) error {
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

// progress shows the progress of a search on standard error: on a terminal in one line
// that is overwritten, otherwise occasionally.
type progress struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	wrote    bool
}

// Intervals of showing progress.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressElsewhere  = 30 * time.Second
)

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, shown: time.Now()}
	if file, ok := out.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
		p.terminal = err == nil
	}
	return p
}

func (p *progress) show(now run.Progress) {
	every := progressElsewhere
	if p.terminal {
		every = progressOnTerminal
	}
	last := now.Experiments >= now.Budget
	if !last && time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	text := progressText(now)
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", text)
		p.wrote = true
		return
	}
	fmt.Fprintln(p.out, text)
}

// rateText formats a rate with three significant digits, or all integer digits, without exponent.
func rateText(rate float64) string {
	digits := 2
	for low := rate; low >= 10 && digits > 0; low /= 10 {
		digits--
	}
	return strconv.FormatFloat(rate, 'f', digits, 64)
}

func progressText(now run.Progress) string {
	text := fmt.Sprintf("giverny search: %d of %s, %d failed, %s", now.Experiments, plural.Count(now.Budget, "experiment", "experiments"), now.Failed, plural.Count(now.Anomalies, "anomaly", "anomalies"))
	if done := now.Experiments - now.Resumed; done > 0 {
		text += fmt.Sprintf(", %s experiments a minute", rateText(float64(done)/now.Elapsed.Minutes()))
	}
	if left := now.Left(); left > 0 {
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// end leaves the progress line on a terminal.
func (p *progress) end() {
	if p.wrote {
		fmt.Fprintln(p.out)
	}
}
