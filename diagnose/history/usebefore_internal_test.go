package history

import (
	"testing"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestMeansHoldForTheInterval: the mean loads over some slots stay what they are while those over more other slots than
// are kept are asked for; the same slots have the same number, others another.
func TestMeansHoldForTheInterval(t *testing.T) {
	g := topologytest.Parse(t, "ft", "fattree:leaves=2,hosts=2,spines=1")
	h := New(g, routes.NewRouter(g), Limits{Window: 30, MaxLag: 25, Jobs: 10})
	h.Clock = Clock{Duration: 60e9, Now: 9}
	use := h.Track(schema.BandwidthUsed)
	const pasts, link = mostSpans + 2, schema.LinkID(3)
	var means [pasts]func(schema.LinkID) float64
	numbers := map[uint32]bool{}
	for i := range pasts {
		use.Row(int64(i))[link] = uint8(10 * (i + 1))
		of := Slots{N: 1}
		of.At[0] = int64(i)
		var number, again uint32
		means[i], number = h.MeanUse(of)
		if _, again = h.MeanUse(of); number != again || numbers[number] {
			t.Errorf("past %d has the number %d, then %d", i, number, again)
		}
		numbers[number] = true
	}
	first := means[0](link)
	for range 2 {
		for i, mean := range means {
			if got, want := mean(link), float64(i+1)*first; got != want || got <= 0 {
				t.Errorf("past %d: a mean load of %v%%, want %v%%", i, got, want)
			}
		}
	}
}
