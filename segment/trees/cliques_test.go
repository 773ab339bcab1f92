package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Routers of a group that wait for each other are one exchange, though three by three at two levels.
func TestRoutersThatWaitForEachOtherAreOne(t *testing.T) {
	g := stalls.Fabric(t, oneGroupOfEight)
	s, waits := stalls.ByEnds{}, []float32{50, 50, 50, 40, 40, 40}
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
	oneRegion(t, g, s, s.On(t, g))
}

// Two trees whose roots are sources of each other are two.
func TestTwoThatWaitForEachOtherAreTwo(t *testing.T) {
	g := stalls.Fabric(t, oneGroupOfEight)
	s := incastAt0()
	for router := 2; router < 7; router++ {
		from := fmt.Sprint("router0-", router)
		s[[2]string{from, "router0-7"}] = 20
		s[[2]string{fmt.Sprint("host", 4*router+3), from}] = 18
	}
	s[[2]string{"router0-0", "router0-7"}] = 20
	s[[2]string{"router0-7", "host28"}] = 23
	got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)}))
	if len(got) != 2 {
		t.Errorf("got %s, want two regions", segmenttest.Sizes(got))
	}
}
