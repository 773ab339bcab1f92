package analysis_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// shuffled is a graph of the same devices and links in another order, and with
// one link from a new switch.
func shuffled(t *testing.T, g *topology.Graph, seed uint64) *topology.Graph {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	b := topology.NewBuilder(g.Fabric())
	b.SetDuplex()
	ids := map[topology.DeviceID]topology.DeviceID{}
	added := b.Device(topology.Device{Name: "added", Level: -1, Group: -1})
	for _, i := range rng.Perm(g.NumDevices()) {
		d := g.Device(topology.DeviceID(i))
		ids[topology.DeviceID(i)] = b.Device(*d)
	}
	for _, i := range rng.Perm(g.NumLinks()) {
		l := g.Link(schema.LinkID(i))
		l.From, l.To = ids[l.From], ids[l.To]
		b.Link(l)
	}
	b.Link(topology.Link{From: added, FromPort: "1", To: ids[0], ToPort: "extra", CapacityBytesPerSecond: 1e9, Class: topology.ClassSwitch, Dim: -1, Up: true})
	n, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A new version of the fabric, set while a region lives, changes only its links'
// numbers: no interval is cut short, the region keeps its identity.
func TestANewVersionKeepsWhatIsKnown(t *testing.T) {
	g := newGraph(t, "torus:4x4x4")
	batches := life(g)
	whole := newCore(t, g)
	add(t, whole, batches...)
	want := results(whole, 31*second)

	core := newCore(t, g)
	var got []*schema.IntervalResult
	for i, b := range batches {
		if i > 0 {
			got = append(got, results(core, b.TimeNanos[0]-second/2)...)
		}
		if i == 8 { // the region lives, and an interval is open
			if err := core.SetGraph(shuffled(t, g, 7), b.TimeNanos[0]); err != nil {
				t.Fatal(err)
			}
		}
		add(t, core, b)
	}
	got = append(got, results(core, 31*second)...)
	if len(got) != len(want) {
		t.Fatalf("%d intervals, want %d", len(got), len(want))
	}
	changes := 0
	for i, r := range got {
		w := want[i]
		if r.Snapshot.Interval != w.Snapshot.Interval || len(r.Regions) != len(w.Regions) {
			t.Fatalf("%v: %d regions, want %d in %v", r.Snapshot.Interval, len(r.Regions), len(w.Regions), w.Snapshot.Interval)
		}
		for j, a := range r.Regions {
			if b := w.Regions[j]; a.ID != b.ID || a.AgeIntervals != b.AgeIntervals || a.Size != b.Size || a.Mean != b.Mean || *a.Forecast != *b.Forecast {
				t.Errorf("%v: region %+v, want %+v", r.Snapshot.Interval, a, b)
			}
		}
		for _, e := range r.Events {
			if e.Kind == schema.GraphChanged {
				changes++
				if !strings.Contains(e.Detail, "1 added") {
					t.Errorf("the change says %q", e.Detail)
				}
			}
		}
		mine := slices.DeleteFunc(slices.Clone(r.Events), func(e schema.Event) bool { return e.Kind == schema.GraphChanged })
		if len(mine) != len(w.Events) {
			t.Errorf("%v: events %v, want %v", r.Snapshot.Interval, mine, w.Events)
		}
	}
	later := newCore(t, shuffled(t, g, 7)) // what is saved under the new version is of that version
	saved := slices.IndexFunc(got, func(r *schema.IntervalResult) bool {
		return r.Saved != nil && r.Snapshot.GraphVersion != got[0].Snapshot.GraphVersion
	})
	if saved < 0 {
		t.Fatal("nothing is saved under the new version")
	}
	if err := later.Load(got[saved].Snapshot.Interval, got[saved].Saved); err != nil {
		t.Errorf("what is saved under the new version cannot be loaded: %v", err)
	}
	if changes != 1 || got[0].Snapshot.GraphVersion == got[len(got)-1].Snapshot.GraphVersion {
		t.Errorf("%d changes, versions %x and %x", changes, got[0].Snapshot.GraphVersion, got[len(got)-1].Snapshot.GraphVersion)
	}
}
