package replay_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/diagnose/bench/replay"
	"github.com/giverny/giverny/schema"
)

// measurements is the page that documents the measured accuracy; the table of this world is below its heading.
const (
	measurements = "../../../docs/explanation/diagnosis-accuracy.md"
	heading      = "## A second simulator"
)

const (
	firstFloorSeed = 1_000_000 // as on the page
	standardErrors = 3
)

// documented reads a row of the first table that has it below a heading: the shares with their standard errors, 0 to 1.
func documented(t *testing.T, heading, row string) (incidents float64, class, job, root, falseBlame [2]float64) {
	t.Helper()
	page, err := os.ReadFile(measurements)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("%s has no %q", measurements, heading)
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 12 || strings.TrimSpace(cells[1]) != row {
			continue
		}
		if _, err := fmt.Sscan(strings.TrimSpace(cells[2]), &incidents); err != nil {
			t.Fatal(err)
		}
		for cell, into := range map[int]*[2]float64{4: &class, 5: &job, 6: &root, 8: &falseBlame} {
			if strings.TrimSpace(cells[cell]) == "-" {
				continue
			}
			if _, err := fmt.Sscanf(strings.TrimSpace(cells[cell]), "%f ± %f%%", &into[0], &into[1]); err != nil {
				t.Fatalf("%s: %q: %v", measurements, cells[cell], err)
			}
			into[0], into[1] = into[0]/100, into[1]/100
		}
		return incidents, class, job, root, falseBlame
	}
	t.Fatalf("%s: no row %q below %q", measurements, row, heading)
	return incidents, class, job, root, falseBlame
}

// A diagnoser fails that is worse than documented by more than three standard errors of this many incidents.
func TestVerdictsHaveFloors(t *testing.T) {
	incidents, class, job, root, falseBlame := documented(t, heading, "all")
	var s bench.Score
	world := replay.World()
	sets := slices.DeleteFunc(world.Sets, func(set string) bool { return set == "rails" }) // which has a row of its own
	for i, kind := range world.Kinds {
		if i%2 == 1 {
			continue
		}
		in, err := replay.New(sets[i/2%len(sets)], kind, firstFloorSeed)
		if err != nil {
			t.Fatal(err)
		}
		play(t, &s, in)
	}
	fewer := math.Sqrt(incidents / float64(s.Incidents))
	for _, c := range []struct {
		name string
		got  bench.Share
		page [2]float64
	}{{"class", s.Class, class}, {"job", s.Job, job}, {"root port", s.Root, root}} {
		if floor := c.page[0] - standardErrors*c.page[1]*fewer; c.got.Of == 0 || c.got.Part() < floor {
			t.Errorf("%s is right in %.3f of %v incidents; documented are %.3f, the floor is %.3f", c.name, c.got.Part(), c.got.Of, c.page[0], floor)
		}
	}
	if most := falseBlame[0] + standardErrors*max(falseBlame[1], .01)*fewer; s.FalseBlame.Of == 0 || s.FalseBlame.Part() > most {
		t.Errorf("false blame in %.3f of %v; documented are %.3f, the most is %.3f", s.FalseBlame.Part(), s.FalseBlame.Of, falseBlame[0], most)
	}
}

// play adds the verdicts on an incident to a score.
func play(t *testing.T, s *bench.Score, in *replay.Incident) {
	t.Helper()
	judge, err := diagnose.New(in.Graph(), diagnose.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := in.Play(judge)
	if err != nil {
		t.Fatal(err)
	}
	s.Add(verdicts)
}

// A diagnoser fails that knows only the first port of each host: it takes an exchange by all of them for that of others.
func TestRailsHaveFloors(t *testing.T) {
	incidents, class, _, _, _ := documented(t, "### Hosts with several ports", string(replay.OwnPattern))
	var s bench.Score
	for seed := int64(firstFloorSeed); s.Incidents < 5; seed++ {
		in, err := replay.New("rails", replay.OwnPattern, seed)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(in.Topology, "adapters") { // of which each has one port
			play(t, &s, in)
		}
	}
	if floor := class[0] - standardErrors*class[1]*math.Sqrt(incidents/s.Class.Of); s.Class.Of == 0 || s.Class.Part() < floor {
		t.Errorf("class is right in %.3f of %v incidents; documented are %.3f, the floor is %.3f", s.Class.Part(), s.Class.Of, class[0], floor)
	}
}

// watcher counts what a judge is shown.
type watcher struct{ jobs, traffic, failures, regions int }

func (w *watcher) Step(r *schema.IntervalResult) {
	w.jobs, w.traffic, w.failures, w.regions = w.jobs+len(r.Jobs), w.traffic+len(r.Traffic), w.failures+len(r.Failures), w.regions+len(r.Regions)
}

// The same set, kind and seed give the same incident, another seed another one.
func TestIncidentsAreDeterministic(t *testing.T) {
	seen := map[watcher]int{}
	for _, seed := range []int64{7, 7, 8} {
		in, err := replay.New("leafspine", replay.Gather, seed)
		if err != nil {
			t.Fatal(err)
		}
		var w watcher
		if _, err := in.Play(&w); err != nil {
			t.Fatal(err)
		}
		if w.jobs == 0 || w.regions == 0 {
			t.Errorf("seed %d: the judge is shown %+v", seed, w)
		}
		seen[w]++
	}
	if len(seen) != 2 {
		t.Errorf("three incidents, two of them of one seed: %v", seen)
	}
}

func TestUnknownSet(t *testing.T) {
	if _, err := replay.New("ring", replay.Gather, 1); err == nil {
		t.Error("a set that does not exist makes an incident")
	}
}
