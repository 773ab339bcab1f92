package segment

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
)

// Routers of a group that wait for each other are one exchange, though they are level by threes.
func TestRoutersThatWaitForEachOtherAreOne(t *testing.T) {
	g := parse(t, oneGroupOfEight)
	s, waits := stalls{}, []float32{50, 50, 50, 40, 40, 40}
	for a := range waits {
		from := fmt.Sprint("router0-", a)
		for b, wait := range waits {
			if a != b {
				s[[2]string{from, fmt.Sprint("router0-", b)}] = wait
			}
		}
		for host := 4 * a; host < 4*a+4; host++ {
			s[[2]string{fmt.Sprint("host", host), from}] = 45
		}
	}
	oneRegion(t, g, s, s.on(t, g))
}

// Two trees that send to each other's root are two.
func TestTwoThatWaitForEachOtherAreTwo(t *testing.T) {
	g := parse(t, oneGroupOfEight)
	s := incastAt0()
	for router := 2; router < 7; router++ {
		from := fmt.Sprint("router0-", router)
		s[[2]string{from, "router0-7"}] = 20
		s[[2]string{fmt.Sprint("host", 4*router+3), from}] = 18
	}
	s[[2]string{"router0-0", "router0-7"}] = 20
	s[[2]string{"router0-7", "host28"}] = 23
	got := newSegmenter(t, g, overlapping()).Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: s.on(t, g)}))
	if len(got) != 2 {
		t.Errorf("got %s, want two regions", sizes(got))
	}
}
