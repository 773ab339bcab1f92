package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func hostsOf(t *testing.T, g *topology.Graph, names ...string) (found []topology.DeviceID) {
	t.Helper()
	for _, name := range names {
		d, known := g.FindDevice(name)
		if !known {
			t.Fatalf("no host %s", name)
		}
		found = append(found, d)
	}
	return found
}

// Others' part in a link is the least of what their exchanges put there and of what it carried before, of what it
// carries now. Job 1 has host0 and host2, job 2 host1 and host3; half of what each moves goes from leaf0 to leaf1.
// Capacities are 1% = 1.
func TestOthersLoad(t *testing.T) {
	const across = "leaf0>spine0"
	for _, c := range []struct {
		name       string
		stalls     map[string]float64
		carries    float64 // by the link across, percent
		before     float64 // -1: not known
		own, other float64 // moved, percent of a link's capacity
		comparable bool
		want       float64
	}{
		{"alone", map[string]float64{across: 50}, 60, 0, 120, 0, true, 0},
		{"half is others'", map[string]float64{across: 50}, 60, -1, 60, 60, true, .5},
		{"the rest is the accused's, however little of its exchange is there", map[string]float64{across: 50}, 90, -1, 20, 20, true, 1. / 9},
		{"others have no more than was there before", map[string]float64{across: 50}, 60, 6, 60, 60, true, .1},
		{"others have no more than they move, whatever was there before", map[string]float64{across: 50}, 60, 50, 60, 12, true, .1},
		{"no readings of load", map[string]float64{across: 50}, 0, -1, 30, 10, true, .25},
		{"traffic that is not measured as load is", map[string]float64{across: 50}, 60, 60, 3, 1, false, .25},
		{"others wait at their host", map[string]float64{across: 30, "host1>leaf0": 10}, 60, 0, 120, 0, true, .25},
		{"no job's link waits", map[string]float64{across: 30, "spine0>leaf2": 10}, 60, 0, 120, 0, true, .25},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=1")
			s, err := New(g, DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			s.history.Clock.Duration, s.comparable = 1e9, c.comparable
			p, region := readings(t, g, c.stalls, map[string]float64{across: c.carries})
			s.read = &p.Readings
			p.Before = func(schema.LinkID) float64 { return c.before }
			percent := g.Capacity(roottest.Link(t, g, across)) / 100
			jobOf := func(id string, moved float64, hosts ...string) *job {
				return &job{Job: &history.Job{Job: schema.Job{ID: id}, Devices: hostsOf(t, g, hosts...), Traffic: &history.Traffic{}}, recent: moves{known: true, volume: volume{all: moved * percent}}}
			}
			rc := &regionCase{in: &s.interval, p: p, region: &schema.Region{Links: region}, suspects: []suspect{
				{job: jobOf("1", c.own, "host0", "host2"), cross: 1}, {job: jobOf("2", c.other, "host1", "host3"), cross: 1}}}
			for _, l := range region {
				rc.waits = append(rc.waits, c.stalls[g.Device(g.Link(l).From).Name+">"+g.Device(g.Link(l).To).Name]/100)
			}
			if got := rc.othersPart(&rc.suspects[0]); math.Abs(got-c.want) > 1e-6 {
				t.Errorf("%.3f, want %.3f", got, c.want)
			}
		})
	}
}
