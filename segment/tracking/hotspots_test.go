package tracking_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// What was saved goes on as if nothing had happened; what is damaged is refused.
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
		saved := whole.Save(nil)
		loaded, err := tracking.LoadHotspots(g, cfg, saved)
		if err != nil {
			t.Fatal(err)
		}
		for now := range 4 {
			step(before+now, whole, loaded)
			if diff := cmp.Diff(whole.Longest(), loaded.Longest()) + cmp.Diff(whole.Episodes(), loaded.Episodes()); diff != "" {
				t.Fatal(diff)
			}
		}
		if string(whole.Save(nil)) != string(loaded.Save(nil)) {
			t.Fatal("the loaded measure does not know what the saved one does")
		}
		saved[rapid.IntRange(0, len(saved)-1).Draw(t, "byte")]++
		if _, err := tracking.LoadHotspots(g, cfg, saved); !errors.Is(err, tracking.ErrSaved) {
			t.Fatalf("damaged: %v", err)
		}
	})
	other := cfg
	other.ThresholdsPercent = []float64{5, 15}
	h, err := tracking.NewHotspots(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tracking.LoadHotspots(g, other, h.Save(nil)); !errors.Is(err, tracking.ErrSaved) {
		t.Errorf("of other thresholds: %v", err)
	}
}

// What loads can go on, whatever it says.
func FuzzLoadHotspots(f *testing.F) {
	g := torus(f, "torus:2x2x2")
	h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(h.Save(nil))
	for now := range 5 {
		values := make([]float32, g.NumLinks())
		values[now], values[now+1] = 40, float32(10*now)
		h.Step(snapshotOf(now, values))
	}
	f.Add(h.Save(nil))
	f.Fuzz(func(t *testing.T, saved []byte) {
		h, err := tracking.LoadHotspots(g, tracking.DefaultHotspotConfig(), tracking.Sealed(saved))
		if err != nil {
			return
		}
		again := h.Save(nil)
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
			if diff := cmp.Diff(want, h.Longest()); diff != "" {
				t.Error(diff)
			}
		}
	}
	want := []schema.HotLink{{Metric: schema.CreditStall, Link: 0, SinceNanos: since(1)}, {Metric: schema.CreditStall, Link: 2, SinceNanos: since(2)}}
	if diff := cmp.Diff(want, h.Longest()); diff != "" {
		t.Error(diff)
	}
	var episodes []schema.HotEpisode
	for _, percent := range []float64{20, 15, 10, 5} {
		episodes = append(episodes, schema.HotEpisode{Metric: schema.CreditStall, ThresholdPercent: percent, Intervals: 3})
	}
	if diff := cmp.Diff(episodes, h.Episodes()); diff != "" {
		t.Error(diff)
	}
}

// Against one list of values per link and threshold. A negative value is missing.
func TestHotspotsAgainstNaive(t *testing.T) {
	g := torus(t, "torus:2x2x2")
	cfg := tracking.DefaultHotspotConfig()
	rapid.Check(t, func(t *rapid.T) {
		h, err := tracking.NewHotspots(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		links, n := g.NumLinks(), rapid.IntRange(1, 40).Draw(t, "intervals")
		history := make([][]float32, n)
		draw := rapid.SampledFrom([]float32{-1, 0, 4, 5, 12, 27, 30, 31, float32(math.Inf(1))})
		for now := range history {
			history[now] = make([]float32, links)
			for l := range history[now] {
				history[now][l] = draw.Draw(t, "percent")
			}
			h.Step(snapshotOf(now, history[now]))
		}
		for j, threshold := range cfg.ThresholdsPercent {
			count, longest, going := uint64(0), int64(0), 0
			end := func(run int) {
				count++
				longest = max(longest, int64(run))
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
					going++
				}
			}
			got, open := h.Ended(schema.CreditStall, j)
			if got.Count != count || got.Longest != longest || open != going || got.Quantile(1) != longest {
				t.Fatalf("at %v%%: %d ended, longest %d, %d going on; want %d, %d, %d", threshold, got.Count, got.Longest, open, count, longest, going)
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
	d, _ := h.Ended(schema.CreditStall, 0)
	if d.Quantile(.5) <= 0 || d.Quantile(.999) < d.Quantile(.5) || d.Quantile(1) != d.Longest {
		t.Errorf("quantiles %d, %d of %d episodes", d.Quantile(.5), d.Quantile(.999), d.Count)
	}
}
