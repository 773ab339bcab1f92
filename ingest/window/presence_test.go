package window_test

import (
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// One agent reads the switches of a ring, another reads only one of them. A
// switch that its agent no longer reports is missed, one whose agent is silent
// is unread, and after the longest gap both are unheard.
func TestPresenceOfPorts(t *testing.T) {
	g := topologytest.Parse(t, "f", "torus:6")
	cfg := window.DefaultConfig()
	cfg.Interval, cfg.ClockLateness = time.Second, time.Second
	w, err := window.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	const second = int64(time.Second)
	report := func(agent string, nanos int64, devices ...string) {
		b := &schema.CounterBatch{Fabric: "f", Agent: agent, Source: "test", Columns: []schema.CounterColumn{{Name: "gemini.traffic_bytes"}}}
		for i, d := range devices {
			b.Ports = append(b.Ports, schema.PortName{Device: d, Port: "X+"})
			b.TimeNanos, b.PortIndex = append(b.TimeNanos, nanos), append(b.PortIndex, uint32(i))
			b.Columns[0].Values = append(b.Columns[0].Values, uint64(nanos))
		}
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(9) {
		at := i*second + second/10
		switch {
		case i < 2:
			report("many", at, "0", "1", "2", "3")
			report("one", at, "4")
		default:
			report("many", at, "0", "1", "2")
		}
	}
	w.Advance(10*second, 10*second)
	heard, missed, unread, unheard := schema.Heard, schema.Missed, schema.Unread, schema.Unheard
	wants := [][]schema.Presence{ // of the switches 0 to 5
		{heard, heard, heard, heard, heard, unheard},
		{heard, heard, heard, heard, heard, unheard},
		{heard, heard, heard, missed, unread, unheard},
		{heard, heard, heard, missed, unread, unheard},
		{heard, heard, heard, unheard, unheard, unheard},
	}
	for i, want := range wants {
		snap := w.Next()
		if snap == nil {
			t.Fatalf("%d intervals", i)
		}
		var got []schema.Presence
		for d := range topology.DeviceID(6) {
			links, _ := g.PortAt(d, "X+")
			got = append(got, snap.Ports.From[links.Egress])
			if to := snap.Ports.To[links.Ingress]; links.Ingress != links.Egress && to != snap.Ports.From[links.Egress] {
				t.Errorf("interval %d: port %d/X+ leaves as %d and is entered as %d", i, d, snap.Ports.From[links.Egress], to)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("interval %d: %v, want %v", i, got, want)
		}
	}
}

// A new window to which the readers of an earlier one are given finds what an uninterrupted one finds, for as long: what died
// before it began is missed, and what a silent agent read is unread.
func TestPresenceOfRememberedPorts(t *testing.T) {
	const second = int64(time.Second)
	g := topologytest.Parse(t, "f", "torus:6")
	cfg := window.DefaultConfig()
	cfg.Interval, cfg.ClockLateness = time.Second, time.Second
	var readers []uint64
	for _, began := range []int64{0, 5} {
		w, err := window.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if began > 0 {
			if w.Remember(readers[1:]) == nil {
				t.Error("the ports of another fabric are remembered")
			}
			if err := w.Remember(readers); err != nil {
				t.Fatal(err)
			}
			w.RememberUntil(began * second)
		}
		for i := began; i < began+5; i++ {
			for agent, devices := range map[string][]string{"many": {"0", "1", "2", "3"}, "one": {"4"}} {
				if began > 0 { // after the restart
					devices = devices[:len(devices)-1]
				}
				b := &schema.CounterBatch{Fabric: "f", Agent: agent, Source: "test", Columns: []schema.CounterColumn{{Name: "gemini.traffic_bytes"}}}
				for n, d := range devices {
					b.Ports = append(b.Ports, schema.PortName{Device: d, Port: "X+"})
					b.TimeNanos, b.PortIndex = append(b.TimeNanos, i*second+second/10), append(b.PortIndex, uint32(n))
					b.Columns[0].Values = append(b.Columns[0].Values, uint64(i))
				}
				if err := w.Add(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Advance((began+6)*second, (began+6)*second)
		for snap := w.Next(); snap != nil; snap = w.Next() {
			heard, three, four := schema.Heard, schema.Heard, schema.Heard
			switch n := snap.Interval.StartNanos / second; {
			case n >= 7:
				three, four = schema.Unheard, schema.Unheard
			case n >= 5:
				three, four = schema.Missed, schema.Unread
			}
			for d, want := range []schema.Presence{heard, heard, heard, three, four, schema.Unheard} {
				links, _ := g.PortAt(topology.DeviceID(d), "X+")
				if got := snap.Ports.From[links.Egress]; got != want {
					t.Errorf("%v: switch %d is %d, want %d", snap.Interval, d, got, want)
				}
			}
		}
		readers = w.Readers()
	}
}
