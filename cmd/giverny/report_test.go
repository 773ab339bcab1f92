package main

import (
	"strings"
	"testing"
	"time"
)

// A day is accepted wherever an instant is.
func TestDiagnosesOfADay(t *testing.T) {
	f := diagnoseFlags{from: "2026-03-29", to: "2026-03-30T02:00:00+02:00"}
	span, _, err := f.span(int64(time.Minute))
	if want, _ := parseSpan(f.from, f.to); err != nil || span != want {
		t.Errorf("%v, %v, want %v", span, err, want)
	}
}

func TestSpansOfReports(t *testing.T) {
	span, err := parseSpan("2026-03-29", "2026-03-30T02:00:00+02:00")
	if err != nil || time.Duration(span.To-span.From) != 24*time.Hour {
		t.Errorf("a day and an instant: %v, %v", span, err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"", "2026-03-30", "--from is missing"},
		{"2026-03-30", "2026-03-30", "--to must be after --from"},
		{"2026-02-30", "2026-03-30", "or a day"},
		{"0001-01-01", "2026-03-30", "a year from 1678 to 2261"},
		{"2026-03-30", "2300-01-01", "a year from 1678 to 2261"},
	} {
		if _, err := parseSpan(c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("from %q to %q: %v, want %q", c.from, c.to, err, c.want)
		}
	}
}
