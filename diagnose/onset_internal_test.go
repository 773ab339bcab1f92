package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestALoadIsFlat: what a link carried is flat if it is the same in all intervals since the onset that are known, enough of them.
func TestALoadIsFlat(t *testing.T) {
	steady := []uint8{31, 31, 32, 31, 31, 31}
	for _, c := range []struct {
		name    string
		carries []uint8 // since the onset, in steps of levels
		isFlat  bool
	}{
		{name: "the same", carries: steady, isFlat: true},
		{name: "a reading is lost", carries: []uint8{31, 31, levelMissing, 31, 31, 31}, isFlat: true},
		{name: "varies", carries: []uint8{28, 31, 34, 31, 27, 31}},
		{name: "not long enough", carries: steady[:3]},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.clock = clock{duration: 60e9, now: 20}
		use := s.memory.of(schema.BandwidthUsed)
		for i, v := range c.carries {
			use.row(20 - int64(len(c.carries)-1-i))[7] = v
		}
		rc := &regionCase{stall: make([]float64, 20), onset: 20 - len(c.carries) - 1}
		if got := s.isFlat(rc, 7); got != c.isFlat {
			t.Errorf("%s: flat %v, want %v", c.name, got, c.isFlat)
		}
	}
}
