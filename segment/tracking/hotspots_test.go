package tracking_test

import (
	"math"
	"testing"

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
		t.Errorf("quantiles %d, %d of %d spells", d.Quantile(.5), d.Quantile(.999), d.Count)
	}
}
