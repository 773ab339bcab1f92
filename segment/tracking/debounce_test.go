package tracking_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
)

// A mean that alternates around a threshold causes no events; one beyond it for two
// intervals causes one.
func TestSeverityIsDebounced(t *testing.T) {
	for name, c := range map[string]struct {
		means    []float64
		reported []int // intervals
	}{
		"hovers":                   {[]float64{14, 14, 16, 14, 16, 14, 16, 14}, nil},
		"rises":                    {[]float64{14, 14, 16, 16, 16}, []int{3}},
		"rises and falls":          {[]float64{14, 14, 16, 16, 14, 16, 14, 14}, []int{3, 7}},
		"hovers above what it was": {[]float64{14, 14, 24, 26, 24, 26, 24}, []int{3}},
		"rises by two":             {[]float64{14, 14, 16, 26, 26}, []int{3, 4}},
		"to the other side":        {[]float64{16, 16, 14, 26, 14, 26, 16}, nil},
		"rises before it is born":  {[]float64{14, 16, 16, 16, 16}, nil},
	} {
		tr := newTracker(t)
		var reported []int
		for now, mean := range c.means {
			for _, e := range tr.Step(minuteAt(now), regions(region(0, 40, mean))).Events {
				if e.Kind == schema.RegionSeverity {
					reported = append(reported, now)
				}
			}
		}
		if !slices.Equal(reported, c.reported) {
			t.Errorf("%s: reported in %v, want %v", name, reported, c.reported)
		}
	}
}

// A network that alternates between Low and Medium is forecast to continue so.
func TestNetworkForecast(t *testing.T) {
	tr := newTracker(t)
	res := tr.Step(minuteAt(0), regions(region(0, 40, 10)))
	if n := res.Network; n.Severity != schema.Low || math.Abs(n.Next[schema.Low]-.85) > 1e-9 || n.Later[schema.Low] < .45 {
		t.Errorf("with nothing known: %+v", res.Network)
	}
	for now := 1; now < 400; now++ {
		res = tr.Step(minuteAt(now), regions(region(0, 40, 10+10*float64(now%2))))
	}
	if n := res.Network; n.Severity != schema.Medium || n.Next[schema.Low] < .97 || n.Later[schema.Low] < .85 {
		t.Errorf("network %+v", res.Network)
	}
	for _, odds := range []schema.Odds{res.Network.Next, res.Network.Later} {
		sum := 0.
		for _, p := range odds {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("odds %v", odds)
		}
	}
}

// A state saved some intervals ago and updated with the intervals stored since is
// identical to one saved now, so it need not be saved each time.
func TestSavedAndThenRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := mustTracker(t)
		before := rapid.IntRange(1, 12).Draw(t, "before")
		for now := range before {
			whole.Step(minuteAt(now), drawRegions(t))
		}
		loaded, err := tracking.Load(torusOf(t), tracking.DefaultConfig(), whole.Save())
		if err != nil {
			t.Fatal(err)
		}
		now := before
		for range rapid.IntRange(1, 8).Draw(t, "since") {
			now += rapid.SampledFrom([]int{1, 1, 1, 4}).Draw(t, "outage")
			if err := loaded.Restore(minuteAt(now), slices.Clone(whole.Step(minuteAt(now), drawRegions(t)).Regions)); err != nil {
				t.Fatal(err)
			}
		}
		if string(whole.Save()) != string(loaded.Save()) {
			in := drawRegions(t)
			t.Fatal("differs", gocmp.Diff(whole.Step(minuteAt(now+1), slices.Clone(in)), loaded.Step(minuteAt(now+1), in), cmpopts.EquateEmpty()))
		}
	})
}

// The network's forecast, too, must beat persistence.
func TestNetworkForecastBeatsPersistence(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	tr := newTracker(t)
	processes := make([]process, 3)
	var said []schema.NetworkForecast
	for now := range 3000 {
		var in []schema.Region
		for i := range processes {
			if processes[i].step(r); processes[i].mean >= 5 {
				in = append(in, region(70*i, 70*i+60, processes[i].mean))
			}
		}
		said = append(said, tr.Step(minuteAt(now), in).Network)
	}
	for ahead, oddsOf := range map[int]func(schema.NetworkForecast) schema.Odds{
		1:                     func(o schema.NetworkForecast) schema.Odds { return o.Next },
		schema.LaterIntervals: func(o schema.NetworkForecast) schema.Odds { return o.Later },
	} {
		score, persistence := 0., 0.
		for i, o := range said[:len(said)-ahead] {
			odds, became := oddsOf(o), said[i+ahead].Severity
			if became != o.Severity {
				persistence += 2
			}
			odds[became]--
			for _, miss := range odds {
				score += miss * miss
			}
		}
		t.Logf("%d ahead: Brier %.4f, persistence %.4f", ahead, score/float64(len(said)), persistence/float64(len(said)))
		if score > .95*persistence {
			t.Errorf("%d ahead: the forecast hardly beats persistence", ahead)
		}
	}
}
