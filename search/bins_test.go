package search

import (
	"math"
	"testing"
)

// The even weights of the bins of an ordered dimension are the shares of its values, so that
// each is drawn as often as another.
func TestEvenBase(t *testing.T) {
	for n := 2; n <= 14; n++ {
		d := Dimension{Name: "d", Ordered: true}
		for i := range n {
			d.Values = append(d.Values, Number(float64(i)))
		}
		want := make([]float64, d.bins())
		for i := range n {
			want[d.bin([]int{i})] += 1 / float64(n)
		}
		for b := range want {
			if got := d.evenBase(b); math.Abs(got-want[b]) > 1e-9 {
				t.Errorf("%d values: bin %d has weight %v, want %v", n, b, got, want[b])
			}
		}
	}
}
