package tracking_test

import (
	"os"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// storySoFar is a tracker that has seen births, a merge, a split, an end, a
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

// staying is the move of the links of a graph that was of another version, and
// otherwise the same.
func staying(g *topology.Graph, version uint64) tracking.Moved {
	m := tracking.Moved{GraphVersion: version}
	for l := range g.NumLinks() {
		m.Links = append(m.Links, schema.LinkID(l))
	}
	return m
}

// graphVersion2 is the graph's version in the saved state.
const graphVersion2 = 0x9fbbdd63594c43e0

// States of version 2 were written by the last program that wrote them. They load, and what was loaded is
// all that a tracker knows now which has seen the same, to the byte.
func TestVersion2Loads(t *testing.T) {
	saved, err := os.ReadFile("testdata/tracker-v2.state")
	if err != nil {
		t.Fatal(err)
	}
	want := storySoFar(t)
	g := torus(t, "torus:8x8x8")
	got, err := tracking.LoadMoved(g, tracking.DefaultConfig(), saved, staying(g, graphVersion2)) // however graphs are versioned today
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Save(nil)) != string(want.Save(nil)) {
		t.Error("the tracker of version 2 knows something else")
	}
	if next, _ := got.Skill(); next.Forecasts == 0 {
		t.Error("no forecast was counted: nothing was tested")
	}

	if saved, err = os.ReadFile("testdata/hotspots-v2.state"); err != nil {
		t.Fatal(err)
	}
	hot, err := tracking.LoadHotspots(torus(t, "torus:2x2x2"), tracking.DefaultHotspotConfig(), saved)
	if err != nil {
		t.Fatal(err)
	}
	if string(hot.Save(nil)) != string(hotSoFar(t).Save(nil)) {
		t.Error("the hotspots of version 2 know something else")
	}
}
