package main

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/internal/table"
)

// columns of the table. Half and most are the intervals from an incident's first region within which 50% and 90% of the
// incidents have a right verdict.
var columns = []table.Column{{Name: "incidents", Width: -13}, {Name: "n", Width: 5}, {Name: "verdicts", Width: 9}, {Name: "class", Width: 15}, {Name: "job", Width: 15},
	{Name: "root port", Width: 15}, {Name: "root device", Width: 12}, {Name: "false blame", Width: 15}, {Name: "calibration", Width: 12}, {Name: "half", Width: 5}, {Name: "most", Width: 5}}

// row prints the score of the incidents of a name.
func row(t *table.Table, name string, s *bench.Score) {
	t.Row(name, fmt.Sprint(s.Incidents), fmt.Sprint(s.Verdicts), share(s.Class), share(s.Job), share(s.Root), percent(s.RootDevice), share(s.FalseBlame),
		number(s.CalibrationError(), "%.3f"), number(s.Delay(.5), "%.0f"), number(s.Delay(.9), "%.0f"))
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
