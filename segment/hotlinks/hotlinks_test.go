package hotlinks_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/hotlinks"
	"github.com/giverny/giverny/topology/topologytest"
)

// A hot link counts unless a region at Low or above has it, by the metric by which it stalls most.
func TestOutside(t *testing.T) {
	g := topologytest.Parse(t, "f", "torus:2x2")
	series := func(metric schema.Metric, values ...float32) schema.Series {
		s := schema.Series{Metric: metric, Values: values, Valid: schema.NewBitmap(len(values))}
		for i := range values[:len(values)-1] { // the last is missing
			s.Valid.Set(i)
		}
		return s
	}
	snap := &schema.Snapshot{Series: []schema.Series{series(schema.CreditStall, 9, 30, 4, 7, 9), series(schema.InqStall, 12, 0, 0, 0, 9), series(schema.Throughput, 90, 90, 90, 90, 90)}}
	found := hotlinks.Outside(g, snap, []schema.Region{{Severity: schema.Medium, Links: []schema.LinkID{1}}, {Severity: schema.Negligible, Links: []schema.LinkID{3}}})
	if len(found) != 2 || found[0].Link != 0 || found[0].Metric != schema.InqStall || found[1].Link != 3 || found[1].Device == "" {
		t.Fatalf("%+v", found)
	}
	h, text := hotlinks.NewHistory(), strings.Builder{}
	h.Add(found)
	h.Add(found[1:])
	if h.Print(&text); !strings.Contains(text.String(), "inq_stall of 12.0% on average in 1 of 2 intervals, at most 12.0%") || strings.Index(text.String(), "inq_stall") < strings.Index(text.String(), "credit_stall") {
		t.Error(text.String())
	}
}
