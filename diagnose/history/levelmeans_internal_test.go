package history

import (
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestMeansAreThoseOfEachLink: the means of many links at once equal those of single links to the bit, whatever is
// missing.
func TestMeansAreThoseOfEachLink(t *testing.T) {
	const links, slots = 613, 240
	rng := rand.New(rand.NewPCG(1, 1))
	l := newLevels(links, slots)
	for i := range l.bytes {
		switch {
		case i%links == 17, rng.IntN(9) == 0: // missing
		case i%links == 18:
			l.bytes[i] = levelMost
		default:
			l.bytes[i] = uint8(rng.IntN(levelMost + 1))
		}
	}
	out := schema.Series{Values: make([]float32, links), Valid: schema.NewBitmap(links)}
	for _, from := range []int64{1, 100, 233, 239} {
		l.average(from, slots, &out)
		count := 0
		for link := range links {
			want := l.over(from, slots, schema.LinkID(link))
			if want >= 0 {
				count++
			}
			if valid := out.Valid.Has(link); valid != (want >= 0) || valid && out.Values[link] != float32(want) {
				t.Fatalf("from slot %d link %d: %v, %v, want %v", from, link, out.Values[link], valid, want)
			}
		}
		if out.Count != count || out.Valid.Has(17) {
			t.Errorf("from slot %d: %d links are measured, want %d", from, out.Count, count)
		}
	}
}
