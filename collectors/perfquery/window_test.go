//go:build integration

package perfquery

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/test/ibsim"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A quarter of a second of waiting, added to a port of a live subnet between two
// sweeps, is returned by the window as 25 percent of stall in that second, on the link
// that leaves the port and nowhere else. The sweeps are dated a second apart, however
// long they took on this machine.
func TestXmitWaitBecomesStall(t *testing.T) {
	subnet := ibsim.Start(t, tree.Netlist())
	g, _, err := topology.ReadIBNetDiscover(strings.NewReader(subnet.Output("ibnetdiscover")), "ibnetdiscover", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	port, ok := g.FindPort("leaf0", "1")
	if !ok {
		t.Fatal("the graph has no port 1 of leaf0")
	}
	cfg := window.DefaultConfig()
	cfg.Interval = time.Second
	cfg.TickPicoseconds = 1_000_000 // a microsecond
	w, err := window.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(t, overSubnet(subnet))
	start := schema.IntervalAt(time.Now().UnixNano(), int64(cfg.Interval))
	for second := range int64(5) {
		if second == 3 {
			subnet.SetCounter(tree.Leaf(0), 1, "PortCounters.PortXmitWait", 250_000)
		}
		for _, b := range sweepOf(t, c, schema.PortName{Device: "leaf0", Port: "1"}) {
			for i := range b.TimeNanos {
				b.TimeNanos[i] = start.StartNanos + second*int64(cfg.Interval)
			}
			if err := w.Add(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := start.StartNanos + 60*int64(cfg.Interval)
	w.Advance(end, end)
	got := map[int64]float32{}
	for s := w.Next(); s != nil; s = w.Next() {
		series := s.Find(schema.XmitWait)
		if series == nil {
			continue
		}
		for link, percent := range series.Values {
			if percent == 0 || !series.Valid.Has(link) {
				continue
			}
			if schema.LinkID(link) != port.Egress {
				t.Errorf("%v: link %d stalled for %v percent", s.Interval, link, percent)
				continue
			}
			got[(s.Interval.StartNanos-start.StartNanos)/int64(cfg.Interval)] = percent
		}
	}
	if len(got) != 1 || got[2] != 25 { // read at seconds 2 and 3
		t.Errorf("percent of stall by second: %v, want 25 in second 2 (dropped: %v)", got, w.Drops())
	}
}

// sweepOf repeats sweeps until one has the port: on a busy machine the simulator
// refuses some connections, and the effect of a failed query on a stall is not tested
// here.
func sweepOf(t *testing.T, c collectors.Collector, port schema.PortName) []*schema.CounterBatch {
	t.Helper()
	const patience = 20
	for range patience {
		batches := collectortest.Poll(t, c, 1)
		for _, b := range batches {
			if slices.Contains(b.Ports, port) {
				return batches
			}
		}
	}
	t.Fatalf("no sweep of %d has port %v", patience, port)
	return nil
}
