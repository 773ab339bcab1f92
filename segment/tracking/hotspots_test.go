package tracking_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
)

func snapshotOf(now int, values []float32) *schema.Snapshot {
	valid := schema.NewBitmap(len(values))
	for l, v := range values {
		if v >= 0 {
			valid.Set(l)
		}
	}
	return &schema.Snapshot{Links: len(values), Interval: minuteAt(now), Series: []schema.Series{{Metric: schema.CreditStall, Values: values, Valid: valid}}}
}

// A restored state continues as if uninterrupted; a damaged one is rejected.
func TestHotspotsSaved(t *testing.T) {
	g := torus(t, "torus:2x2x2")
	cfg := tracking.DefaultHotspotConfig()
	cfg.ListLinks = 3
	rapid.Check(t, func(t *rapid.T) {
		whole, err := tracking.NewHotspots(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		draw := rapid.SampledFrom([]float32{-1, 0, 12, 27, 31})
		step := func(now int, all ...*tracking.Hotspots) {
			values := make([]float32, g.NumLinks())
			for l := range values {
				values[l] = draw.Draw(t, "percent")
			}
			for _, h := range all {
				h.Step(snapshotOf(now, values))
			}
		}
		before := rapid.IntRange(0, 10).Draw(t, "before")
		for now := range before {
			step(now, whole)
		}
		saved := whole.Save()
		loaded, err := tracking.LoadHotspots(g, cfg, saved)
		if err != nil {
			t.Fatal(err)
		}
		for now := range 4 {
			step(before+now, whole, loaded)
			if diff := gocmp.Diff(whole.Longest(), loaded.Longest(), cmpopts.EquateEmpty()) + gocmp.Diff(whole.Episodes(), loaded.Episodes(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
		if string(whole.Save()) != string(loaded.Save()) {
			t.Fatal("the loaded measure does not know what the saved one does")
		}
		saved[rapid.IntRange(0, len(saved)-1).Draw(t, "byte")]++
		if _, err := tracking.LoadHotspots(g, cfg, saved); err == nil {
			t.Fatalf("damaged: %v", err)
		}
	})
	other := cfg
	other.ThresholdsPercent = []float64{5, 15}
	h, err := tracking.NewHotspots(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tracking.LoadHotspots(g, other, h.Save()); err == nil {
		t.Errorf("of other thresholds: %v", err)
	}
}

// Any state that can be loaded can continue.
func FuzzLoadHotspots(f *testing.F) {
	g := torus(f, "torus:2x2x2")
	h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(h.Save())
	for now := range 5 {
		values := make([]float32, g.NumLinks())
		values[now], values[now+1] = 40, float32(10*now)
		h.Step(snapshotOf(now, values))
	}
	f.Add(h.Save())
	f.Fuzz(func(t *testing.T, saved []byte) {
		h, err := tracking.LoadHotspots(g, tracking.DefaultHotspotConfig(), tracking.Sealed(saved))
		if err != nil {
			return
		}
		again := h.Save()
		if _, err := tracking.LoadHotspots(g, tracking.DefaultHotspotConfig(), again); err != nil {
			t.Fatal(err)
		}
		h.Step(snapshotOf(20, make([]float32, g.NumLinks())))
		h.Longest()
	})
}

func TestLongestHotLinks(t *testing.T) {
	g := torus(t, "torus:2x2x2")
	cfg := tracking.DefaultHotspotConfig()
	cfg.ListLinks = 2
	h, err := tracking.NewHotspots(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	since := func(now int) int64 { return minuteAt(now).StartNanos }
	for now, hot := range [][3]float32{{10, 20, 0}, {16, 20, 0}, {16, 20, 30}, {16, 0, 30}} {
		h.Step(snapshotOf(now, append(hot[:], make([]float32, g.NumLinks()-3)...)))
		if want := []schema.HotLink{{Metric: schema.CreditStall, Link: 1, SinceNanos: since(0)}, {Metric: schema.CreditStall, Link: 0, SinceNanos: since(1)}}; now == 2 {
			if diff := gocmp.Diff(want, h.Longest()); diff != "" {
				t.Error(diff)
			}
		}
	}
	want := []schema.HotLink{{Metric: schema.CreditStall, Link: 0, SinceNanos: since(1)}, {Metric: schema.CreditStall, Link: 2, SinceNanos: since(2)}}
	if diff := gocmp.Diff(want, h.Longest()); diff != "" {
		t.Error(diff)
	}
	var episodes []schema.HotEpisode
	for _, percent := range []float64{20, 15, 10, 5} {
		episodes = append(episodes, schema.HotEpisode{Metric: schema.CreditStall, ThresholdPercent: percent, Intervals: 3})
	}
	if diff := gocmp.Diff(episodes, h.Episodes()); diff != "" {
		t.Error(diff)
	}
}

// Compared with a list of values per link and threshold. A negative value is missing.
func TestHotspotsAgainstNaive(t *testing.T) {
	g := torus(t, "torus:2x2x2")
	cfg := tracking.DefaultHotspotConfig()
	cfg.ListLinks = g.NumLinks()
	rapid.Check(t, func(t *rapid.T) {
		h, err := tracking.NewHotspots(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		links, n := g.NumLinks(), rapid.IntRange(1, 40).Draw(t, "intervals")
		history := make([][]float32, n)
		var episodes []schema.HotEpisode
		draw := rapid.SampledFrom([]float32{-1, 0, 4, 5, 12, 27, 30, 31, float32(math.Inf(1))})
		for now := range history {
			history[now] = make([]float32, links)
			for l := range history[now] {
				history[now][l] = draw.Draw(t, "percent")
			}
			h.Step(snapshotOf(now, history[now]))
			episodes = append(episodes, h.Episodes()...)
		}
		level := slices.Index(cfg.ThresholdsPercent, cfg.ListPercent)
		for j, threshold := range cfg.ThresholdsPercent {
			var want []schema.HotEpisode
			var going []schema.HotLink
			end := func(run int) {
				want = append(want, schema.HotEpisode{Metric: schema.CreditStall, ThresholdPercent: threshold, Intervals: int64(run)})
			}
			for l := range links {
				since, seen := -1, -1
				for now := range n {
					v := history[now][l]
					if since >= 0 && now-seen-1 > cfg.GapIntervals {
						end(seen + 1 - since)
						since = -1
					}
					switch {
					case v < 0:
					case float64(v) >= threshold && since < 0:
						since, seen = now, now
					case float64(v) >= threshold:
						seen = now
					case since >= 0:
						end(seen + 1 - since)
						since = -1
					}
				}
				if since >= 0 {
					going = append(going, schema.HotLink{Metric: schema.CreditStall, Link: schema.LinkID(l), SinceNanos: minuteAt(since).StartNanos})
				}
			}
			got := slices.DeleteFunc(slices.Clone(episodes), func(e schema.HotEpisode) bool { return e.ThresholdPercent != threshold })
			byLength := func(a, b schema.HotEpisode) int { return cmp.Compare(a.Intervals, b.Intervals) }
			slices.SortFunc(got, byLength)
			slices.SortFunc(want, byLength)
			if !slices.Equal(got, want) {
				t.Fatalf("at %v%%: episodes %v, want %v", threshold, got, want)
			}
			slices.SortFunc(going, func(a, b schema.HotLink) int {
				return cmp.Or(cmp.Compare(a.SinceNanos, b.SinceNanos), cmp.Compare(a.Link, b.Link))
			})
			if j == level && !slices.Equal(h.Longest(), going) {
				t.Fatalf("hot links %v, want %v", h.Longest(), going)
			}
		}
	})
}

func TestHotspotStepDoesNotAllocate(t *testing.T) {
	g := torus(t, "torus:8x8x8")
	h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, g.NumLinks())
	s, now := snapshotOf(0, values), 0
	step := func() {
		for l := range 100 {
			values[l] = float32((now*7 + l*13) % 60)
		}
		s.Interval = minuteAt(now)
		h.Step(s)
		now++
	}
	for range 300 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations per step", n)
	}
	if len(h.Longest()) == 0 {
		t.Error("no link is hot: nothing was tested")
	}
}
