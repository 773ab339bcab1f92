package window_test

import (
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// shuffled returns the same fabric with its devices and links in another order,
// and so with other numbers; without the cables that lose selects.
func shuffled(t interface{ Fatal(...any) }, rng *rand.Rand, g *topology.Graph, lose func(topology.Link) bool) *topology.Graph {
	b := topology.NewBuilder(g.Fabric())
	if g.Duplex() {
		b.SetDuplex()
	}
	for _, d := range rng.Perm(g.NumDevices()) {
		device := *g.Device(topology.DeviceID(d))
		device.Coord = nil
		b.Device(device)
	}
	for _, id := range rng.Perm(g.NumLinks()) {
		l := g.Link(schema.LinkID(id))
		if lose != nil && lose(l) {
			continue
		}
		l.From = b.Device(topology.Device{Name: g.Device(l.From).Name, Kind: g.Device(l.From).Kind})
		l.To = b.Device(topology.Device{Name: g.Device(l.To).Name, Kind: g.Device(l.To).Kind})
		b.Link(l)
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// named is a snapshot by link names.
type named struct {
	Interval schema.Interval
	Samples  int
	Values   map[schema.Metric]map[schema.PortName]float32
}

func nameLinks(g *topology.Graph, s *schema.Snapshot) named {
	n := named{s.Interval, s.Samples, map[schema.Metric]map[schema.PortName]float32{}}
	for _, series := range s.Series {
		values := map[schema.PortName]float32{}
		for id, v := range series.Values {
			if series.Valid.Has(id) {
				l := g.Link(schema.LinkID(id))
				values[schema.PortName{Device: g.Device(l.From).Name, Port: l.FromPort}] = v
			}
		}
		n.Values[series.Metric] = values
	}
	return n
}

// runChanging adds batches to a window and changes its graph before some of them.
func runChanging(t interface{ Fatal(...any) }, s stream, change func(batch int, g *topology.Graph) *topology.Graph) (out []named, drops map[string]uint64) {
	w, err := window.New(s.g, s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := s.g
	take := func() {
		for snap := w.Next(); snap != nil; snap = w.Next() {
			out = append(out, nameLinks(g, snap))
			w.Recycle(snap)
		}
	}
	for i, b := range s.batches {
		if next := change(i, g); next != nil {
			if err := w.SetGraph(next); err != nil {
				t.Fatal(err)
			}
			g = next
		}
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		take()
	}
	w.Advance(1e12, 1e12)
	take()
	return out, w.Drops()
}

// A counter's history moves with its port when the port's number changes.
func TestRenumberingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, rapid.Bool().Draw(t, "wild"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "graph seed"), 0))
		every := rapid.IntRange(1, 10).Draw(t, "batches between changes")
		want, wantDrops := runChanging(t, s, func(int, *topology.Graph) *topology.Graph { return nil })
		got, gotDrops := runChanging(t, s, func(i int, g *topology.Graph) *topology.Graph {
			if i%every != 0 {
				return nil
			}
			return shuffled(t, rng, g, nil)
		})
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := gocmp.Diff(wantDrops, gotDrops); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A removed cable removes its ports and nothing else; when it is back, its ports
// start without a history.
func TestALostCableChangesNoOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	g := grid(t, "mesh:4")
	ports := []schema.PortName{{Device: "0", Port: "X+"}, {Device: "1", Port: "X+"}, {Device: "2", Port: "X+"}}
	s := stream{g: g, cfg: window.DefaultConfig()}
	for minute := range int64(8) {
		s.batches = append(s.batches, traffic(60*minute, uint64(60*minute), ports...))
	}
	got, drops := runChanging(t, s, func(i int, _ *topology.Graph) *topology.Graph {
		switch i {
		case 3: // the polls at 180 s and 240 s do not find it
			return shuffled(t, rng, g, func(l topology.Link) bool { return g.Device(l.From).Name == "1" && l.FromPort == "X+" })
		case 5:
			return shuffled(t, rng, g, nil)
		}
		return nil
	})
	lost := []bool{false, false, true, true, true, false, false} // by minute
	for i, gone := range lost {
		want := map[schema.PortName]float32{ports[0]: 1, ports[1]: 1, ports[2]: 1}
		if gone {
			delete(want, ports[1])
		}
		if diff := gocmp.Diff(want, got[i].Values[schema.Throughput]); diff != "" {
			t.Errorf("minute %d: %s", i, diff)
		}
	}
	if drops["unknown_port"] != 2 {
		t.Errorf("drops %v, want 2 rows of an unknown port", drops)
	}
}
