package bench_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/bench"
)

// documentedSteadiness reads the last row of the page's table of steadiness: the number of incidents, and mean and error by column.
func documentedSteadiness(t *testing.T) (incidents float64, columns [7][2]float64) {
	t.Helper()
	page, err := os.ReadFile(measurements)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## How steady are they?")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 11 || strings.TrimSpace(cells[1]) != "all" {
			continue
		}
		if _, err := fmt.Sscan(cells[2], &incidents); err != nil {
			t.Fatalf("%s: %q: %v", measurements, cells[2], err)
		}
		for i := range columns {
			if _, err := fmt.Sscanf(strings.TrimSpace(cells[3+i]), "%f ± %f", &columns[i][0], &columns[i][1]); err != nil {
				t.Fatalf("%s: %q: %v", measurements, cells[3+i], err)
			}
		}
		return incidents, columns
	}
	t.Fatalf("%s has no row of all incidents", measurements)
	return 0, columns
}

// Fails if regions come and go, or change their root or verdict, more often than the page documents, by more than three standard
// errors of this many incidents, or if regions outlast the stall.
func TestSteadinessHasFloors(t *testing.T) {
	incidents, page := documentedSteadiness(t)
	var s bench.Steadiness
	for i, kind := range append(bench.Kinds(), bench.TwoIncasts) {
		set := bench.Faint()
		if i%2 == 1 {
			set = bench.Sets()[i/2%len(bench.Sets())]
		}
		in, judge := incidentOf(t, set, kind)
		moments, err := in.Watch(judge)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(moments)
	}
	fewer := math.Sqrt(incidents / float64(s.Incidents))
	for i, c := range []struct {
		name string
		got  bench.Mean
	}{{"covered", s.Covered}, {"regions by spell", s.Identities}, {"changes of the region", s.IdentityChanges}, {"changes of the root", s.RootChanges}, {"changes of the verdict", s.VerdictChanges},
		{"held", s.Held}, {"noise", s.Noise}} {
		want, slack := page[i][0], standardErrors*max(.01, page[i][1])*fewer
		if worse := c.got.Value() - want; i == 0 && worse < -slack || i > 0 && worse > slack {
			t.Errorf("%s: %.3f; documented is %.3f, the limit %.3f off", c.name, c.got.Value(), want, slack)
		}
	}
}
