package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestMovedAcross: what hosts exchanged over a plane that failed, or over a port, fills their ports in the other one,
// and its links; a failure in the same plane moves nothing across, and a rail whose spines are common is not cut off by
// one.
func TestMovedAcross(t *testing.T) {
	for _, c := range []struct {
		name         string
		arePlanes    bool
		full         string // a link of plane 0
		device, port string // what failed
		kind         schema.EventKind
		added        float64 // to the full link
		want         float64
	}{
		{"a host's port of the other plane", true, "leaf0-1>host1-0", "spine1-0", "", schema.SwitchFailed, .25e9, 1},
		{"half of what was added", true, "leaf0-1>host1-0", "spine1-0", "", schema.SwitchFailed, .5e9, .5},
		{"what the host sends", true, "host1-0>leaf0-1", "spine1-0", "", schema.SwitchFailed, .25e9, 1},
		{"what all hosts of a leaf take in", true, "spine0-0>leaf0-1", "spine1-0", "", schema.SwitchFailed, .6e9, 1},
		{"what all hosts of a leaf send", true, "leaf0-1>spine0-0", "spine1-0", "", schema.SwitchFailed, .6e9, 1},
		{"a host without another port", true, "leaf0-0>host0-0", "spine1-0", "", schema.SwitchFailed, .25e9, 0},
		{"the plane of the full link", true, "leaf0-1>host1-0", "spine0-1", "", schema.SwitchFailed, .25e9, 0},
		{"it came back", true, "leaf0-1>host1-0", "spine1-0", "", schema.SwitchRestored, .25e9, 0},
		{"a spine of all rails", false, "leaf0-1>host1-0", "spine0-0", "", schema.SwitchFailed, .25e9, 0},
		{"the host's other port", false, "leaf0-1>host1-0", "host1-0", "host", schema.LinkFailed, .25e9, 1},
		{"another host's port", false, "leaf0-1>host1-0", "host1-1", "host", schema.LinkFailed, .25e9, 0},
	} {
		g := topologytest.Rails(t, 2, 3, 2, c.arePlanes)
		p, _ := readings(t, g, nil, map[string]float64{c.full: 90})
		p.Before = func(l schema.LinkID) float64 { return 25 }
		s := &Stage{interval: interval{graph: g, hosts: g.Hosts(), router: routes.NewRouter(g), history: remembersAt(g, history.Clock{Duration: 60e9})}}
		s.read = &p.Readings
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, root: rootLoad{link: roottest.Link(t, g, c.full), carries: .9e9, added: c.added},
			timeline: timeline{clock: s.history.Clock, onset: -1, burst: -1}}
		f := &history.PlacedFailure{Failure: schema.Failure{Kind: c.kind, Device: c.device, Port: c.port}}
		if c.port != "" {
			f.Port = g.Link(roottest.Link(t, g, c.device+">leaf1-1")).FromPort
		}
		f.Place(g)
		if got := rc.movedAcross(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.2f of the load moved, want %.2f", c.name, got, c.want)
		}
		rc.back = root.BackPressure{Root: root.Port{Link: rc.root.link, Kind: schema.RootIncast}}
		score, _ := rc.rateFailure(f, 2, 1)
		if explains := score > 0; explains != (c.want == 1) {
			t.Errorf("%s: the failure scores %.1f", c.name, score)
		}
	}
}

// TestMovedAcrossAdapters: the ports of a host may be those of several devices, and of several that fail at once each
// explains what all of them lost.
func TestMovedAcrossAdapters(t *testing.T) {
	const full = "leaf0-1>host1-0 mlx5_0"
	g := topologytest.WithAdapters(t, topologytest.Rails(t, 2, 3, 4, true))
	clock := history.Clock{Duration: 60e9}
	fails := func(device string, minute int64) history.PlacedFailure {
		f := history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: device, Port: g.Link(g.LinksAt(deviceNamed(t, g, device))[0]).FromPort, Time: schema.Instant(minute * 60e9)}}
		f.Place(g)
		return f
	}
	for _, c := range []struct {
		name     string
		failures []history.PlacedFailure // the first is rated
		want     float64
	}{
		{"another adapter", []history.PlacedFailure{fails("host1-0 mlx5_2", 0)}, .5},
		{"two at once", []history.PlacedFailure{fails("host1-0 mlx5_2", 0), fails("host1-0 mlx5_1", 0)}, 1},
		{"a later one", []history.PlacedFailure{fails("host1-0 mlx5_2", 0), fails("host1-0 mlx5_1", 5)}, .5},
		{"an adapter of another host beside it", []history.PlacedFailure{fails("host1-1 mlx5_2", 0), fails("host1-0 mlx5_1", 0)}, 0},
	} {
		p, _ := readings(t, g, nil, map[string]float64{full: 90})
		p.Before = func(schema.LinkID) float64 { return 25 }
		router := routes.NewRouter(g)
		h := remembersAt(g, clock)
		h.Failures = c.failures
		in := interval{graph: g, router: router, history: h, read: &p.Readings, reach: newReach(g, router)}
		rc := &regionCase{in: &in, pressure: p, region: &schema.Region{}, root: rootLoad{link: roottest.Link(t, g, full), carries: .9e9, added: .5e9}}
		if got := rc.movedAcross(&c.failures[0]); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.2f of the load moved, want %.2f", c.name, got, c.want)
		}
		in.reach.from([]schema.LinkID{rc.root.link}, 1)
		if hops := in.reach.hopsTo(c.failures[0].Devices[0]); hops == beyondHops {
			t.Errorf("%s: the failure is out of reach", c.name)
		}
	}
}

func deviceNamed(t *testing.T, g *topology.Graph, name string) topology.DeviceID {
	t.Helper()
	d, ok := g.FindDevice(name)
	if !ok {
		t.Fatalf("no device %q", name)
	}
	return d
}
