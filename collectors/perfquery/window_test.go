//go:build integration

package perfquery

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/testibsim"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A quarter of a second of waiting, put into a live subnet's port between two
// polls, comes out of the window as a quarter of a second of stall on the link
// that leaves the port, and nowhere else.
func TestXmitWaitBecomesStall(t *testing.T) {
	subnet := testibsim.Start(t, tree.Netlist())
	g, _, err := topology.ReadIBNetDiscover(strings.NewReader(subnet.Output("ibnetdiscover")), "ibnetdiscover", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := window.DefaultConfig()
	cfg.IntervalNanos = int64(time.Second)
	cfg.TickPicoseconds = 1_000_000 // a microsecond
	w, err := window.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(t, overSubnet(subnet))
	stalled, others := 0., 0.
	ports, ok := g.FindPort("leaf0", "1")
	if !ok {
		t.Fatal("the graph has no port 1 of leaf0")
	}
	collect := func() {
		for s := w.Next(); s != nil; s = w.Next() {
			series := s.Find(schema.XmitWait)
			if series == nil {
				continue
			}
			for link, percent := range series.Values {
				if !series.Valid.Has(link) {
					continue
				}
				seconds := float64(percent) / 100
				if schema.LinkID(link) == ports.Egress {
					stalled += seconds
				} else {
					others += seconds
				}
			}
		}
	}
	for round := range 8 {
		if round == 3 {
			subnet.SetCounter(tree.Leaf(0), 1, "PortCounters.PortXmitWait", 250_000)
		}
		for _, b := range collectortest.Poll(t, c, 1) {
			if err := w.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		collect()
		time.Sleep(500 * time.Millisecond)
	}
	w.Advance(time.Now().Add(time.Minute).UnixNano())
	collect()
	if math.Abs(stalled-0.25) > 0.02 || others != 0 {
		t.Errorf("%.3f s of stall on the port's link, %.3f s on others; want 0.25 and 0 (dropped: %v)", stalled, others, w.Drops())
	}
}
