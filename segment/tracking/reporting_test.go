package tracking_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
)

// Fifty regions hover at the minimum size next to a stable one, whose events must not be lost among
// theirs. Without debouncing they cause ten events per interval, with it but without limits five.
func TestRegionsThatHoverAreQuiet(t *testing.T) {
	const limit = 20
	r := rand.New(rand.NewPCG(11, 9))
	cfg := tracking.DefaultConfig()
	cfg.Limits = tracking.Limits{Links: limit, MeanPercent: 5}
	tr, err := tracking.New(torus(t, "torus:8x8x8"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	events, sightings := 0, 0
	for now := range 120 {
		in := regions(region(0, 200, 40))
		for k := range 50 {
			if size := 16 + r.IntN(6); size >= limit { // 20 or 21 in a third of the intervals
				in = append(in, region(200+24*k, 200+24*k+size, 7.4))
				sightings++
			}
		}
		for _, e := range tr.Step(minuteAt(now), in).Events {
			if e.Kind == schema.RegionBorn || e.Kind == schema.RegionEnded {
				events++
			}
		}
	}
	if sightings < 1500 || events != 1 {
		t.Errorf("%d events of %d sightings: want the birth of the region that stays", events, sightings)
	}
}

// history is the state of a region according to its events.
type history struct {
	apart, ended bool
	seen         []int
}

// For any coming and going of regions: the events of each are in order, born or split, merged, split, merged...,
// with at most one end and nothing after it; a region never seen in two consecutive intervals has none, and one
// that was seen so has been reported.
func TestEventsOfARegionAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := mustTracker(t)
		known := map[uint64]*history{}
		of := func(id uint64) *history {
			if known[id] == nil {
				known[id] = &history{}
			}
			return known[id]
		}
		for now := range rapid.IntRange(1, 20).Draw(t, "intervals") {
			res := tr.Step(minuteAt(now), drawRegions(t))
			for _, r := range res.Regions {
				of(r.ID).seen = append(of(r.ID).seen, now)
			}
			for _, e := range res.Events {
				if e.RegionID != 0 {
					of(e.RegionID).take(t, e)
				}
			}
			for id, h := range known {
				if n := len(h.seen); n >= 2 && h.seen[n-1] == now && h.seen[n-2] == now-1 && !h.apart {
					t.Fatalf("interval %d: region %d is there for the second interval in a row, and no event says so", now, id)
				}
			}
		}
	})
}

func (h *history) take(t *rapid.T, e schema.Event) {
	switch e.Kind {
	case schema.RegionBorn, schema.RegionSplit:
		if lasted := false; !h.apart && !h.ended {
			for i := 1; i < len(h.seen); i++ {
				lasted = lasted || h.seen[i] == h.seen[i-1]+1
			}
			if h.apart = true; lasted {
				return
			}
		}
	case schema.RegionMerged, schema.RegionEnded:
		if h.apart && !h.ended {
			h.apart, h.ended = false, e.Kind == schema.RegionEnded
			return
		}
	case schema.RegionSeverity:
		if h.apart {
			return
		}
	}
	t.Fatalf("%v of a region that is apart: %v, has ended: %v, seen in %v", e, h.apart, h.ended, h.seen)
}
