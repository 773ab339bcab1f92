package tracking_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func torusOf(t *rapid.T) *topology.Graph {
	return topologytest.Parse(t, "lily", "torus:4x4x4")
}

func mustTracker(t *rapid.T) *tracking.Tracker {
	tr, err := tracking.New(torusOf(t), tracking.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func savedStory(tb testing.TB) []byte {
	tr := newTracker(tb)
	for i := range 9 {
		tr.Step(minuteAt(i), regions(region(0, 40+i, 10), region(60, 90+i, 12+3*float64(i)), region(100+5*i, 140, 30)))
	}
	return tr.Save()
}

func TestDamageIsFound(t *testing.T) {
	g, saved := torus(t, "torus:8x8x8"), savedStory(t)
	for i := range saved {
		bad := append([]byte(nil), saved...)
		bad[i] ^= 1 << (i % 8)
		if _, err := tracking.Load(g, tracking.DefaultConfig(), bad); err == nil {
			t.Fatalf("byte %d of %d changed: %v", i, len(saved), err)
		}
		if _, err := tracking.Load(g, tracking.DefaultConfig(), saved[:i]); err == nil {
			t.Fatalf("cut to %d of %d bytes: %v", i, len(saved), err)
		}
	}
	if _, err := tracking.Load(torus(t, "torus:4x4x4"), tracking.DefaultConfig(), saved); err == nil {
		t.Errorf("on another graph: %v", err)
	}
	t.Logf("%d bytes", len(saved))
}

// A state that loads, loads again after saving, and can continue.
func FuzzLoad(f *testing.F) {
	f.Add(savedStory(f))
	f.Add(newTracker(f).Save())
	g := torus(f, "torus:8x8x8")
	f.Fuzz(func(t *testing.T, saved []byte) {
		tr, err := tracking.Load(g, tracking.DefaultConfig(), tracking.Sealed(saved))
		if err != nil {
			return
		}
		again := tr.Save()
		other, err := tracking.Load(g, tracking.DefaultConfig(), again)
		if err != nil {
			t.Fatal(err)
		}
		if string(other.Save()) != string(again) {
			t.Fatal("saved differently")
		}
		tr.Restore(minuteAt(20), regions(region(0, 40, 10), region(70, 90, 30)))
	})
}
