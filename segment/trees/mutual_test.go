package trees_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Exchanging hosts, a few per router of a group, are mostly (in three of four draws) one region, even if one router
// has only one, whose port looks like a root.
func TestFewHostsOfEachRouterExchange(t *testing.T) {
	g := stalls.Fabric(t, "dragonfly:groups=9,routers=8,hosts=4")
	parted := 0
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		level := func() float32 { return float32(21 * (1 + .08*rng.NormFloat64())) }
		s := stalls.ByEnds{}
		for a := range 8 {
			for b := range 8 {
				if a != b {
					s[[2]string{fmt.Sprint("router0-", a), fmt.Sprint("router0-", b)}] = level()
				}
			}
			for host := 4 * a; host < 4*a+1+rng.Intn(3); host++ {
				s[[2]string{fmt.Sprint("host", host), fmt.Sprint("router0-", a)}] = level()
				s[[2]string{fmt.Sprint("router0-", a), fmt.Sprint("host", host)}] = level()
			}
		}
		snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})
		if got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap); len(got) != 1 {
			t.Logf("seed %d: got %s, want one exchange", seed, segmenttest.Sizes(got))
			parted++
		}
	}
	if parted > 10 {
		t.Errorf("%d of 40 exchanges are parted", parted)
	}
}
