package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestRegionsThatBeginTogetherAreAJobsPhase: regions with one onset all over the ground of one job are that job's; a
// large region with its fragments, regions with other onsets, on little of the ground, or among the nodes of several
// jobs are not.
func TestRegionsThatBeginTogetherAreAJobsPhase(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	var all []topology.DeviceID
	for d := range topology.DeviceID(g.NumDevices()) {
		all = append(all, d)
	}
	lines := make([][]schema.LinkID, 16) // links along the last dimension, by the other two coordinates
	for l := range schema.LinkID(g.NumLinks()) {
		from, to := g.Ends(l)
		if a, b := g.Device(from).Coord, g.Device(to).Coord; len(a) == 3 && len(b) == 3 && a[2] != b[2] {
			lines[4*a[0]+a[1]] = append(lines[4*a[0]+a[1]], l)
		}
	}
	for name, c := range map[string]struct {
		change func(cases []regionCase, s *Stage)
		lines  int
		phase  bool
	}{
		"all lines at once":          {func([]regionCase, *Stage) {}, 16, true},
		"on a quarter of the ground": {func([]regionCase, *Stage) {}, 4, false},
		"other onsets": {func(cases []regionCase, _ *Stage) {
			for i := range cases {
				cases[i].timeline.onset = i
			}
		}, 16, false},
		"a large one with fragments": {func(cases []regionCase, _ *Stage) {
			for i := 1; i < 10; i++ {
				cases[0].region.Links = append(cases[0].region.Links, cases[i].region.Links...)
			}
		}, 16, false},
		"a second job everywhere": {func(_ []regionCase, s *Stage) {
			s.settle(&job{Job: &history.Job{Job: schema.Job{ID: "b"}, Devices: all}})
		}, 16, false},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.settle(&job{Job: &history.Job{Devices: all}})
		cases := make([]regionCase, c.lines)
		for i := range cases {
			cases[i] = regionCase{in: &s.interval, timeline: timeline{onset: 5, stall: make([]float64, 20)},
				region: &schema.Region{Metric: schema.CreditStall, Links: append([]schema.LinkID{}, lines[i]...)}}
		}
		c.change(cases, s)
		s.findTogether(cases)
		if got := cases[len(cases)-1].together != nil; got != c.phase {
			t.Errorf("%s: a phase of the job: %v", name, got)
		}
	}
}
