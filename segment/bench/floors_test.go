package bench

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/segment"
)

// The page with the documented scores, which are the reference.
const measurements = "../../docs/explanation/regions-accuracy.md"

// floorSamples is the number of samples of each set, from firstFloorSeed on: the first of those
// measured for the page.
const (
	floorSamples   = 20
	packetSamples  = 10 // of sets simulated packet by packet
	pageSamples    = 100
	firstFloorSeed = 1_000_000
	standardErrors = 3
)

// scored is a mean score over samples, with its standard error.
type scored struct{ mean, err float64 }

// documented reads the scores of a method by set.
func documented(t *testing.T, method string) map[string]scored {
	t.Helper()
	page, err := os.ReadFile(measurements)
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]scored{}
	for line := range strings.Lines(string(page)) {
		var s scored
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.TrimSpace(cells[2]) != method {
			continue
		}
		if _, err := fmt.Sscanf(strings.TrimSpace(cells[3]), "%f ± %f", &s.mean, &s.err); err != nil {
			t.Fatalf("%s: %q: %v", measurements, line, err)
		}
		scores[strings.TrimSpace(cells[1])] = s
	}
	return scores
}

// pairedLoss is how much lower the mean over all samples of this test may be than when the page was
// measured. The samples are the same, so most of the random variation cancels.
const pairedLoss = .005

// Fails if a rule or constant is worse than documented: on a set by more than three standard errors of this
// number of samples, or on all sets together by more than pairedLoss.
func TestScoresHaveFloors(t *testing.T) {
	for _, set := range DirectedSets() {
		t.Run(set.Name, func(t *testing.T) { holdsDirectedFloor(t, set) })
	}
	scores := meanScores(t)
	for method, m := range floorMethods {
		t.Run(method, func(t *testing.T) {
			page := documented(t, method)
			sum, sets := 0., 0.
			for _, set := range Sets() {
				want, known := page[set.Name]
				if !known {
					t.Errorf("%s: %s has no score in %s", method, set.Name, measurements)
				}
				if !known || !m.on(set.Name) {
					continue
				}
				got := scores[method][set.Name]
				err := want.err * math.Sqrt(float64(pageSamples)/floorSamples)
				sum, sets = sum+got, sets+1
				if floor := want.mean - standardErrors*err; got < floor {
					t.Errorf("%s scores %.4f on %d samples of %s; want %.4f, the documented %.4f less %d standard errors", method, got, floorSamples, set.Name, floor, want.mean, standardErrors)
				}
			}
			if all := sum / sets; all < m.all-pairedLoss {
				t.Errorf("%s scores %.4f on average over %v sets; on the same samples it had %.4f", method, all, sets, m.all)
			} else {
				t.Logf("%.4f on average over %v sets, was %.4f", all, sets, m.all)
			}
		})
	}
}

// floorMethods are the methods for duplex links, with the sets that each is measured on.
var floorMethods = map[string]struct {
	set func(*segment.Config)
	on  func(set string) bool
	all float64 // mean over all samples of this test when the page was measured
}{
	"statistical": {func(*segment.Config) {}, func(string) bool { return true }, .9334},
	// On the other sets nothing adds up: the regions are those of statistical.
	"overlap": {func(c *segment.Config) { c.Overlap = true }, func(set string) bool { return strings.HasPrefix(set, "cube") || strings.HasPrefix(set, "torus") }, .9523},
	// Slow, and without anything to tune.
	"paper": {func(c *segment.Config) { c.Method = segment.Paper }, func(set string) bool { return set == "fattree" }, .6650},
}

// meanScores returns the mean scores of floorMethods by set; each sample is drawn once for all of them.
func meanScores(t *testing.T) map[string]map[string]float64 {
	scores := map[string]map[string]float64{}
	for method := range floorMethods {
		scores[method] = map[string]float64{}
	}
	for _, set := range Sets() {
		g := graphOf(t, set)
		segmenters := map[string]*segment.Segmenter{}
		for method, m := range floorMethods {
			if !m.on(set.Name) {
				continue
			}
			cfg := segment.DefaultConfig()
			m.set(&cfg)
			s, err := segment.New(g, cfg)
			if err != nil {
				t.Fatal(err)
			}
			segmenters[method] = s
		}
		for seed := range int64(floorSamples) {
			sample := set.Sample(g, firstFloorSeed+seed)
			for method, s := range segmenters {
				scores[method][set.Name] += Score(sample.Truth, s.Step(sample.Snapshot)).Score / floorSamples
			}
		}
	}
	return scores
}

// rootFloor is the minimum share of correct roots on the sets with one cause; the page has the value over
// all samples.
const rootFloor = .9

// holdsDirectedFloor compares the score with overlap with the page and with the threshold's score on the same
// samples, and checks the root if there is one cause.
func holdsDirectedFloor(t *testing.T, set Set) {
	want, known := documented(t, "overlap")[set.Name]
	if !known {
		t.Fatalf("%s has no score in %s", set.Name, measurements)
	}
	g := graphOf(t, set)
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	s, err := segment.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	samples := floorSamples
	if strings.HasSuffix(set.Name, "-packet") {
		samples = packetSamples
	}
	var sum, plain float64
	roots, right := 0, 0
	for seed := range int64(samples) {
		sample := set.Sample(g, firstFloorSeed+seed)
		r := Score(sample.Truth, s.Step(sample.Snapshot))
		sum, roots, right = sum+r.Score, roots+r.Roots, right+r.RootsRight
		plain += Score(sample.Truth, Threshold(g, sample.Snapshot, false)).Score
	}
	mean, threshold := sum/float64(samples), plain/float64(samples)
	slack := standardErrors * want.err * math.Sqrt(float64(pageSamples)/float64(samples))
	if mean < want.mean-slack {
		t.Errorf("scores %.4f on %d samples; documented are %.4f ± %.4f", mean, samples, want.mean, want.err)
	}
	if mean < threshold-slack {
		t.Errorf("scores %.4f where thresholds have %.4f", mean, threshold)
	}
	chance := math.Sqrt(rootFloor * (1 - rootFloor) * float64(roots)) // one standard error of this number of samples
	if strings.HasSuffix(set.Name, "-one") && float64(right) < rootFloor*float64(roots)-chance {
		t.Errorf("%d of %d roots are right", right, roots)
	}
}
