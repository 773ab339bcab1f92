package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/giverny/giverny/diagnose/bench"
)

// table prints its lines as they come.
type table struct {
	w        io.Writer
	markdown bool
}

// columns are the widths of the plain table, and what stands above them. Half and most are the intervals from
// an incident's first region within which half, and nine in ten, of the incidents had a right verdict.
var columns = []struct {
	name  string
	width int
}{{"incidents", -13}, {"n", 5}, {"verdicts", 9}, {"class", 15}, {"job", 15}, {"root port", 15}, {"root device", 12}, {"false blame", 15}, {"calibration", 12}, {"half", 5}, {"most", 5}}

func (t *table) head() {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	t.cells(names)
	if t.markdown {
		fmt.Fprintln(t.w, "| --- |"+strings.Repeat(" ---: |", len(columns)-1))
	}
}

func (t *table) row(name string, s *bench.Score) {
	t.cells([]string{name, fmt.Sprint(s.Incidents), fmt.Sprint(s.Verdicts), share(s.Class), share(s.Job), share(s.Root), percent(s.RootDevice), share(s.FalseBlame),
		number(s.CalibrationError(), "%.3f"), number(s.Delay(.5), "%.0f"), number(s.Delay(.9), "%.0f")})
}

func (t *table) cells(cells []string) {
	for i, c := range columns {
		if t.markdown {
			fmt.Fprintf(t.w, "| %s ", cells[i])
			continue
		}
		fmt.Fprintf(t.w, "%*s ", c.width, cells[i])
	}
	if t.markdown {
		fmt.Fprint(t.w, "|")
	}
	fmt.Fprintln(t.w)
}

// share is a part in percent with its standard error.
func share(s bench.Share) string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ± %.1f%%", 100*s.Part(), 100*s.Error())
}

func percent(s bench.Share) string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*s.Part())
}

func number(v float64, format string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 1):
		return "never"
	}
	return fmt.Sprintf(format, v)
}
