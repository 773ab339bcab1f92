package linkhealth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// interval reads every port of a fabric, with its state and five counters.
func interval(tb testing.TB, spec string) (*topology.Graph, *schema.Snapshot, []*schema.CounterBatch) {
	g := topologytest.Parse(tb, "f", spec)
	snap := &schema.Snapshot{Fabric: "f", Links: g.NumLinks(), Interval: schema.IntervalAt(0, int64(time.Minute))}
	b := &schema.CounterBatch{Fabric: "f"}
	for l := range schema.LinkID(snap.Links) {
		snap.Ports.From, snap.Ports.To = append(snap.Ports.From, schema.Heard), append(snap.Ports.To, schema.Heard)
		b.Ports = append(b.Ports, schema.PortName{Device: g.Device(g.Link(l).From).Name, Port: g.Link(l).FromPort})
		b.PortIndex, b.TimeNanos = append(b.PortIndex, uint32(l)), append(b.TimeNanos, 1)
	}
	for _, name := range []string{"ib.port_state", "ib.symbol_error", "ib.port_rcv_errors", "ib.link_error_recovery", "ib.link_downed", "ib.local_link_integrity_errors"} {
		c := schema.CounterColumn{Name: name, Values: make([]uint64, snap.Links)}
		for i := range c.Values {
			c.Values[i] = 4
		}
		b.Columns = append(b.Columns, c)
	}
	return g, snap, []*schema.CounterBatch{b}
}

func TestStepDoesNotAllocate(t *testing.T) {
	g, snap, raw := interval(t, "torus:6x6x6")
	m, err := linkhealth.New(g, linkhealth.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	m.Step(snap, raw, nil)
	if n := testing.AllocsPerRun(10, func() { m.Step(snap, raw, nil) }); n > 0 {
		t.Errorf("%v allocations in a calm step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, spec := range []string{"torus:8x8x8", "torus:24x12x24"} {
		g, snap, raw := interval(b, spec)
		b.Run(fmt.Sprintf("links=%d", snap.Links), func(b *testing.B) {
			m, err := linkhealth.New(g, linkhealth.DefaultConfig())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m.Step(snap, raw, nil)
			}
			b.ReportMetric(float64(snap.Links)*float64(b.N)/b.Elapsed().Seconds(), "links/s")
		})
	}
}
