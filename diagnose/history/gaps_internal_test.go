package history

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestGapsAreFilled: a reading lost in one interval is that of the interval before; one lost in two is unknown.
func TestGapsAreFilled(t *testing.T) {
	const links = 70
	m := memory{length: 4, links: links}
	capacity := func(int) float64 { return 200 }
	series := func(metric schema.Metric, value float32, lost ...int) schema.Series {
		s := schema.Series{Metric: metric, Values: make([]float32, links), Valid: schema.NewBitmap(links), Count: links - len(lost)}
		for l := range links {
			s.Values[l] = value
			s.Valid.Set(l)
		}
		for _, l := range lost {
			s.Values[l] = -1
			s.Valid.Unset(l)
		}
		return s
	}
	snapshot := func(lost ...int) *schema.Snapshot {
		return &schema.Snapshot{Series: []schema.Series{series(schema.CreditStall, 40, lost...), series(schema.Throughput, 100, lost...)}}
	}
	m.follow(9, 10, snapshot(3), capacity)
	now := snapshot(3, 5, 69)
	m.follow(10, 11, now, capacity)
	var g gaps
	got := g.fill(now, &m, 11, capacity)
	for i, want := range []float32{40, 100} {
		s := &got.Series[i]
		for _, l := range []int{5, 69} {
			if !s.Valid.Has(l) || s.Values[l] != want {
				t.Errorf("%v of link %d is %v, valid %t, want %v", s.Metric, l, s.Values[l], s.Valid.Has(l), want)
			}
		}
		if s.Valid.Has(3) {
			t.Errorf("%v of link 3 is known after two intervals without a reading", s.Metric)
		}
		if now.Series[i].Valid.Has(5) {
			t.Error("the snapshot itself was changed")
		}
	}
}
