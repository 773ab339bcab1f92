package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestACableThatCameBackSlower: a verdict on a cable falls when the cable comes back, but not one that was given after
// that on a link that carries less since. A restart forgets neither.
func TestACableThatCameBackSlower(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	minute := func(m int) schema.Instant { return schema.Instant(m) * 60e9 }
	for _, c := range []struct {
		name   string
		given  int // minute of the verdict; the cable came back in minute 5
		slower bool
		stands bool
	}{
		{"given before", 4, true, false},
		{"given after, the link was down", 8, false, false},
		{"given after, the link lost a lane", 8, true, true},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: 10}
		failed := schema.Failure{Time: minute(3), Kind: schema.LinkFailed, Device: "1,1,1", Port: "X+"}
		back := schema.Failure{Time: minute(5), Kind: schema.LinkRestored, Device: "2,1,1", Port: "X-"}
		s.history.AddFailures([]schema.Failure{failed, back})
		s.given.kept = map[uint64]*kept{7: {time: minute(c.given), failures: []schema.NearFailure{{Time: failed.Time, Kind: failed.Kind, Device: failed.Device, Port: failed.Port}}, seen: 10, slower: c.slower}}
		restarted, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if err := restarted.Load(s.Save()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Stage{s, restarted} {
			if got := (&regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock}}).stands(s.given.kept[7]); got != c.stands {
				t.Errorf("%s: stands %v, want %v", c.name, got, c.stands)
			}
		}
	}
}

// TestARegionSettlesAfterAFailure: a region that always stalled stalls more after a failure until routes are
// recomputed; one that still stalls more, or that had not stalled, waits for it.
func TestARegionSettlesAfterAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		before, after, now float64
		onset              int
		settled            bool
	}{
		"as before":           {10, 50, 10, -1, true},
		"still more":          {10, 50, 30, -1, false},
		"not there before it": {0, 50, 10, 8, false},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: 10}
		b, a := c.before, c.after
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: []float64{b, b, b, b, b, b, b, b, a, a, c.now}, onset: c.onset, old: c.onset < 0}}
		if got := rc.settledSince(schema.NearFailure{Time: 8 * 60e9}); got != c.settled {
			t.Errorf("%s: settled %v, want %v", name, got, c.settled)
		}
	}
}
