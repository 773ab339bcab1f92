package bench_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
	"github.com/giverny/giverny/search/simulated"
)

// measurements is the page with the measured figures, which the tests compare with.
const measurements = "../../docs/explanation/search.md"

// Seeds of the floors, and the tolerated shortfall of a mean in standard errors.
const (
	firstFloorSeed = 1
	floorSeeds     = 3
	standardErrors = 3
)

// documented is a row of the page: mean found by 600 and 1200 experiments with their
// standard errors, and the share of exact MFS.
type documented struct {
	at600, err600, at1200, err1200, exact float64
	seeds                                 float64
}

func row(t *testing.T, subject, algorithm string) documented {
	t.Helper()
	page, err := os.ReadFile(measurements)
	if err != nil {
		t.Fatal(err)
	}
	d := documented{seeds: 50}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 11 || strings.TrimSpace(cells[1]) != subject || strings.TrimSpace(cells[2]) != algorithm {
			continue
		}
		text := strings.Join([]string{strings.TrimSpace(cells[4]), strings.TrimSpace(cells[5]), strings.TrimSpace(cells[9])}, " ")
		if _, err := fmt.Sscanf(text, "%f ± %f %f ± %f %f%%", &d.at600, &d.err600, &d.at1200, &d.err1200, &d.exact); err != nil {
			t.Fatalf("%s: %q: %v", measurements, line, err)
		}
		return d
	}
	t.Fatalf("%s has no row of %s and %s", measurements, subject, algorithm)
	return d
}

// TestFloors fails if a search finds fewer than the page documents, by more than three
// standard errors.
func TestFloors(t *testing.T) {
	for _, subject := range []string{"F", "H", "flaky", "generated"} {
		t.Run(subject, func(t *testing.T) {
			want := row(t, subject, "lift")
			var at600, at1200, exact, reported float64
			for seed := uint64(firstFloorSeed); seed < firstFloorSeed+floorSeeds; seed++ {
				r, err := bench.Play(subjectOf(t, subject, seed), search.Config{Algorithm: search.Lift, Budget: 1800, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if r.Spurious > 0 {
					t.Errorf("seed %d: %d reports of workloads that trigger nothing", seed, r.Spurious)
				}
				at600 += float64(r.FoundBy(600)) / floorSeeds
				at1200 += float64(r.FoundBy(1200)) / floorSeeds
				exact += float64(r.Exact)
				reported += float64(r.Reported)
			}
			holds(t, "found by 600", at600, want.at600, want.err600*few(want))
			holds(t, "found by 1200", at1200, want.at1200, want.err1200*few(want))
			// Each report is right or not: this is the error of a share, for the floor's and the page's seeds.
			page := reported * want.seeds / floorSeeds
			p := (want.exact/100*page + 1) / (page + 2) // Laplace's: a share near 1 has an error too
			holds(t, "exact", exact/reported, p, math.Hypot(shareError(p, reported), shareError(p, page)))
		})
	}
}

func subjectOf(t *testing.T, name string, seed uint64) bench.Subject {
	t.Helper()
	if name == "generated" {
		return bench.Generate(seed)
	}
	flaky := simulated.Flakiness{}
	if name == "flaky" {
		name, flaky = "F", simulated.Flakiness{SetupFailed: .03, MissedSymptom: .1}
	}
	e, err := simulated.New(name, seed, flaky)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func holds(t *testing.T, what string, got, want, err float64) {
	t.Helper()
	if got < want-standardErrors*err {
		t.Errorf("%s: %.3f, documented %.3f, less three standard errors of %.3f", what, got, want, err)
	}
}

// few is the standard error of the difference between the floor's and the page's seeds, relative to that of the
// page's.
func few(d documented) float64 { return math.Sqrt(1 + d.seeds/floorSeeds) }

// shareError is the standard error of a share of n.
func shareError(p, n float64) float64 { return math.Sqrt(p * (1 - p) / n) }
