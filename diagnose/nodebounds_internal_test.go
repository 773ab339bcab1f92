package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// directedRow is a row of switches whose links have directions: a mesh of one dimension.
func directedRow(t *testing.T) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder("row")
	names := [...]string{"a", "b", "c", "d"}
	b.SetGrid(topology.Grid{Dims: []int{len(names)}})
	for s, name := range names {
		b.Device(topology.Device{Name: name, Kind: topology.Switch, Level: -1, Group: -1, Coord: []int{s}})
	}
	for s := range len(names) - 1 {
		b.Both(topology.Link{From: topology.DeviceID(s), To: topology.DeviceID(s + 1), FromPort: "X+", ToPort: "X-",
			CapacityBytesPerSecond: 1e9, Class: topology.ClassTorus})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWhatNodesSendAcrossAGrid: what leaves the switches of a job's nodes and did not come there is sent by these; if it
// is as much as was added to the nodes for which a region waits, they send it there, unless one of them is there, or the
// traffic table lacks it.
func TestWhatNodesSendAcrossAGrid(t *testing.T) {
	g := directedRow(t)
	for name, c := range map[string]struct {
		nodes  []string
		uses   map[string]float64 // percent
		listed float64            // what it moves more by a table of RDMA, bytes/s; -1: there is none
		end    string
		want   float64
	}{
		"it sends all":           {[]string{"a", "b"}, map[string]float64{"a>b": 20, "b>c": 50, "c>d": 50}, -1, "d", 1},
		"the table has it":       {[]string{"a", "b"}, map[string]float64{"a>b": 20, "b>c": 50, "c>d": 50}, .4e9, "d", 1},
		"the table has it not":   {[]string{"a", "b"}, map[string]float64{"a>b": 20, "b>c": 50, "c>d": 50}, .1e9, "d", 0},
		"it sends a part":        {[]string{"a", "b"}, map[string]float64{"b>c": 40, "c>d": 50}, -1, "d", .5},
		"it comes from others":   {[]string{"b", "c"}, map[string]float64{"a>b": 50, "b>c": 50, "c>d": 50}, -1, "d", 0},
		"it has a node there":    {[]string{"a", "d"}, map[string]float64{"a>b": 50, "b>c": 50, "c>d": 50}, -1, "d", 0},
		"the nodes take in less": {[]string{"a", "b"}, map[string]float64{"a>b": 50, "b>c": 50, "d>c": 10}, -1, "d", 0},
	} {
		p, _ := readings(t, g, nil, c.uses)
		p.Before = func(schema.LinkID) float64 { return 0 }
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock.Duration, s.history.Clock.Now = 60e9, 14
		s.read, s.measuresLoad = &p.Readings, true
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: c.nodes, Start: 12 * 60e9}}}
		j.Place(g)
		if c.listed >= 0 {
			j.Traffic = &history.Traffic{}
			j.Traffic.Listed[history.RDMAWrite] = true
			j.recent = cachedVolume{known: true, volume: volume{all: 60 * c.listed}}
		}
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 8), onset: 4}}
		at, _ := g.FindDevice(c.end)
		rc.back = root.BackPressure{Switch: root.Switch{Device: at, Share: 1, Kind: schema.RootIncast}}
		if got := (directed{rc}).leaving(&suspect{job: j}); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.2f, want %.2f", name, got, c.want)
		}
	}
}
