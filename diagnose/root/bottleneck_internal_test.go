package root

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// While packets wait for a link with credits it sends, so that its use in that time is its rate.
func TestWaitsBoundTheRateOfALink(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	one := func(m schema.Metric, value float32) *schema.Series {
		s := &schema.Series{Metric: m, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
		if s.Values[7] = value; value >= 0 {
			s.Valid.Set(7)
		}
		return s
	}
	for _, c := range []struct {
		name              string
		inq, credits, use float32
		want              float64
	}{
		{"half of its lanes", 98, 0, 49, .5},
		{"healthy and full", 98, 0, 97, .99},
		{"held up for a third of the time", 99, 33, 33, .5},
		{"held up for most of it", 99, 60, 20, 1},
		{"seldom waited for", 30, 0, 10, 1},
		{"waits of another link counted here", 90, 0, 95, 1},
		{"waits not measured", -1, 0, 20, 1},
		{"credits not measured", 98, -1, 20, 1},
		{"load not measured", 98, 0, -1, 1},
	} {
		p := &Readings{hops: &hops{graph: g}, Inq: one(schema.InqStall, c.inq),
			Credit: one(schema.CreditStall, c.credits), Use: one(schema.BandwidthUsed, c.use)}
		if got := p.rateLeft(7, p.UseOf(7)); math.Abs(got-c.want) > .01 {
			t.Errorf("%s: %.3f, want %.2f", c.name, got, c.want)
		}
	}
}
