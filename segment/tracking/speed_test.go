package tracking_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
)

// wobbling returns n regions of 60 links, whose ends come and go; the tracker may write
// into them.
func wobbling(n, phase int, buf []schema.Region, all []schema.Region) []schema.Region {
	buf = append(buf[:0], all...)
	for i := range buf {
		if (i+phase)%3 == 0 {
			buf[i].Links = buf[i].Links[:50]
		}
		buf[i].ID = 0
	}
	return buf[:n]
}

func TestStepDoesNotAllocate(t *testing.T) {
	tr := newTracker(t)
	var all, buf []schema.Region
	for i := range 20 {
		all = append(all, region(70*i, 70*i+60, 10+float64(i)/10))
	}
	now := 0
	step := func() {
		buf = wobbling(20, now, buf, all)
		tr.Step(minuteAt(now), buf)
		now++
	}
	for range 20 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, n := range []int{40, 400} {
		b.Run(fmt.Sprintf("links=41472/regions=%d", n), func(b *testing.B) {
			tr, err := tracking.New(torus(b, "torus:24x24x24"), tracking.DefaultConfig())
			if err != nil {
				b.Fatal(err)
			}
			var all, buf []schema.Region
			for i := range n {
				all = append(all, region(70*i, 70*i+60, 10+float64(i)/100))
			}
			b.ReportAllocs()
			for now := 0; b.Loop(); now++ {
				buf = wobbling(n, now, buf, all)
				tr.Step(minuteAt(now), buf)
			}
			b.ReportMetric(float64(60*n)*float64(b.N)/b.Elapsed().Seconds(), "links/s")
			b.ReportMetric(float64(len(tr.Save())), "saved-bytes")
		})
	}
}

// BenchmarkHotspots has one link in ten hot, some of which come and go.
func BenchmarkHotspots(b *testing.B) {
	g := torus(b, "torus:24x24x24")
	b.Run(fmt.Sprintf("links=%d", g.NumLinks()), func(b *testing.B) {
		h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
		if err != nil {
			b.Fatal(err)
		}
		values := make([]float32, g.NumLinks())
		s := snapshotOf(0, values)
		b.ReportAllocs()
		for now := 0; b.Loop(); now++ {
			for l := 0; l < len(values); l += 10 {
				values[l] = float32((l + now*(l%3)) % 60)
			}
			s.Interval = minuteAt(now)
			h.Step(s)
			h.Longest()
		}
		b.ReportMetric(float64(len(values))*float64(b.N)/b.Elapsed().Seconds(), "links/s")
		b.ReportMetric(float64(len(h.Save())), "saved-bytes")
	})
}
