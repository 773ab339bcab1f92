package bench_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/diagnose/bench"
)

// measurements is the page that documents the measured accuracy.
const measurements = "../../docs/explanation/diagnosis-accuracy.md"

const (
	firstFloorSeed = 1_000_000 // as on the page
	setsPerKind    = 2
	standardErrors = 3
)

// measured is a row of the page.
type measured struct {
	incidents                     float64
	class, job, root, falseBlame  float64 // 0 to 1
	classErr, jobErr, rootErr, fb float64
	calibration                   float64
}

// documented reads the row of all incidents.
func documented(t *testing.T) (m measured) {
	t.Helper()
	page, err := os.ReadFile(measurements)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 12 || strings.TrimSpace(cells[1]) != "all" {
			continue
		}
		for _, c := range []struct {
			cell      int
			mean, err *float64
		}{{4, &m.class, &m.classErr}, {5, &m.job, &m.jobErr}, {6, &m.root, &m.rootErr}, {8, &m.falseBlame, &m.fb}} {
			if _, err := fmt.Sscanf(strings.TrimSpace(cells[c.cell]), "%f ± %f%%", c.mean, c.err); err != nil {
				t.Fatalf("%s: %q: %v", measurements, cells[c.cell], err)
			}
			*c.mean, *c.err = *c.mean/100, *c.err/100
		}
		for cell, into := range map[int]*float64{2: &m.incidents, 9: &m.calibration} {
			if _, err := fmt.Sscan(strings.TrimSpace(cells[cell]), into); err != nil {
				t.Fatalf("%s: %q: %v", measurements, cells[cell], err)
			}
		}
		return m
	}
	t.Fatalf("%s has no row of all incidents", measurements)
	return m
}

// incidentOf is the first incident of a kind in a set, and a diagnoser of its fabric.
func incidentOf(t *testing.T, set bench.Set, kind bench.Kind) (*bench.Incident, bench.Judge) {
	t.Helper()
	in, err := set.Incident(kind, firstFloorSeed)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := diagnose.New(in.Graph(), diagnose.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return in, judge
}

// A diagnoser fails that is worse than documented by more than three standard errors of this many incidents.
func TestVerdictsHaveFloors(t *testing.T) {
	page := documented(t)
	var s bench.Score
	sets := bench.Sets()
	for i, kind := range bench.Kinds() {
		for n := range setsPerKind {
			in, judge := incidentOf(t, sets[(i+n)%len(sets)], kind)
			verdicts, err := in.Play(judge)
			if err != nil {
				t.Fatal(err)
			}
			s.Add(verdicts)
		}
	}
	fewer := math.Sqrt(page.incidents / float64(s.Incidents))
	for _, c := range []struct {
		name      string
		got       bench.Share
		want, err float64
	}{{"class", s.Class, page.class, page.classErr}, {"job", s.Job, page.job, page.jobErr}, {"root port", s.Root, page.root, page.rootErr}} {
		if floor := c.want - standardErrors*c.err*fewer; c.got.Part() < floor {
			t.Errorf("%s is right in %.3f of %v incidents; documented are %.3f, the floor is %.3f", c.name, c.got.Part(), s.Incidents, c.want, floor)
		}
	}
	if most := page.falseBlame + standardErrors*max(page.fb, .01)*fewer; s.FalseBlame.Part() > most {
		t.Errorf("false blame in %.3f; documented are %.3f, the most is %.3f", s.FalseBlame.Part(), page.falseBlame, most)
	}
	if most := page.calibration + standardErrors*page.classErr*fewer; s.CalibrationError() > most {
		t.Errorf("calibration error %.3f; documented is %.3f, the most is %.3f", s.CalibrationError(), page.calibration, most)
	}
	if s.Reported.Part() < 1 {
		t.Errorf("%.3f of the regions have a verdict", s.Reported.Part())
	}
}
