package pipeline

import (
	"context"
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
)

// fleet is a source of agents, each with the few ports of one host and many counters, which report once per second.
type fleet struct {
	batches   []*schema.CounterBatch
	intervals int
}

func (f *fleet) Name() string { return "fleet" }

func (f *fleet) Run(_ context.Context, in *Intake) error {
	for i := range f.intervals {
		for _, b := range f.batches {
			b.Sequence++
			b.TimeNanos[0] = int64(1+i) * second
			b.Columns[0].Values[0] += 1e9
			if err := in.Counters(f, b, NoOffset); err != nil {
				return err
			}
		}
	}
	return in.Finish()
}

// BenchmarkAgents measures what the pipeline does for the batch of one host, decoding aside.
func BenchmarkAgents(b *testing.B) {
	g := graphOf(b, "f", "fattree:k=16")
	f := &fleet{intervals: 10}
	for _, d := range g.Hosts() {
		host := g.Device(d).Name
		l := g.Link(g.LinksAt(d)[0])
		port := l.FromPort
		if l.From != d {
			port = l.ToPort
		}
		batch := &schema.CounterBatch{Fabric: "f", Source: "ibsysfs", Agent: host, IntervalNanos: second,
			Ports: []schema.PortName{{Device: host, Port: port}}, PortIndex: []uint32{0}, TimeNanos: []int64{0}}
		for _, name := range append([]string{"ib.port_xmit_data"}, diagnosticNames(45)...) {
			batch.Columns = append(batch.Columns, schema.CounterColumn{Name: name, Values: []uint64{0}})
		}
		f.batches = append(f.batches, batch)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := newRig()
		if err := r.fabric(b, g, one(f)).RunOnce(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*f.intervals*len(f.batches)), "us/batch")
}

func diagnosticNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("hw.counter_%d", i))
	}
	return names
}
