package tracking_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// storySoFar is a tracker that has processed births, a merge, a split, an end, a
// congestion event, an outage and two metrics.
func storySoFar(tb testing.TB) *tracking.Tracker {
	tr := newTracker(tb)
	for i := range 12 {
		if i == 6 {
			continue // an outage
		}
		in := regions(region(0, 40+i, 10), region(60, 90+i, 12+3*float64(i)))
		switch {
		case i < 4:
			in = append(in, region(100+5*i, 140, 30), region(300, 400, 20))
		case i < 8:
			in = append(in, region(100, 140, 14), region(300, 340, 20), region(340, 400, 8))
		}
		in[1].Metric = schema.InqStall
		tr.Step(minuteAt(i), in)
	}
	return tr
}

func hotSoFar(tb testing.TB) *tracking.Hotspots {
	g := torus(tb, "torus:2x2x2")
	h, err := tracking.NewHotspots(g, tracking.DefaultHotspotConfig())
	if err != nil {
		tb.Fatal(err)
	}
	for now := range 9 {
		values := make([]float32, g.NumLinks())
		for l := range values {
			values[l] = float32((l*7 + now*(l%5)*11) % 60)
		}
		values[3] = -1
		h.Step(snapshotOf(now, values))
	}
	return h
}

// unmoved is the move of a graph whose links keep their numbers.
func unmoved(g *topology.Graph) (moved []schema.LinkID) {
	for l := range g.NumLinks() {
		moved = append(moved, schema.LinkID(l))
	}
	return moved
}

// States of earlier versions, each written by the last program of that version, with the graph's version at
// the time.
var earlier = []struct {
	version      int
	graphVersion uint64
}{{2, 0x9fbbdd63594c43e0}, {3, 0xa0e2cafc4d523b34}}

// They load to the same state as that of a tracker with the same history; the births of the regions it
// follows have been reported.
func TestEarlierVersionsLoad(t *testing.T) {
	g := torus(t, "torus:8x8x8")
	for _, v := range earlier {
		saved, err := os.ReadFile(fmt.Sprintf("testdata/tracker-v%d.state", v.version))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tracking.LoadOfVersion(g, tracking.DefaultConfig(), saved, v.graphVersion)
		if err != nil {
			t.Fatal(err)
		}
		if next, _ := got.Skill(); next.Forecasts == 0 {
			t.Error("no forecast was counted: nothing was tested")
		}
		want := storySoFar(t)
		for now := 12; now < 20; now++ {
			in := func() []schema.Region { return regions(region(0, 40, 10), region(300, 340, 20+float64(now))) }
			a, b := want.Step(minuteAt(now), in()), got.Step(minuteAt(now), in())
			for _, events := range []*[]schema.Event{&a.Events, &b.Events} { // what was reported before differs by version
				*events = slices.DeleteFunc(*events, func(e schema.Event) bool { return e.Kind == schema.RegionSeverity })
			}
			if diff := gocmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("version %d, interval %d: %s", v.version, now, diff)
			}
		}
	}
}

func TestEarlierVersionsOfHotspotsLoad(t *testing.T) {
	for _, v := range earlier {
		saved, err := os.ReadFile(fmt.Sprintf("testdata/hotspots-v%d.state", v.version))
		if err != nil {
			t.Fatal(err)
		}
		hot, err := tracking.LoadHotspots(torus(t, "torus:2x2x2"), tracking.DefaultHotspotConfig(), saved)
		if err != nil {
			t.Fatal(err)
		}
		if string(hot.Save()) != string(hotSoFar(t).Save()) {
			t.Errorf("the hotspots of version %d know something else", v.version)
		}
	}
}
