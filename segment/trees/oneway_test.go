package trees_test

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// burstsInto stalls the links of bursts from hosts of pod 1 to one host in each of pods 0 and 3, over two switches of
// their pod to either. The receivers' ports are full but not stalled, and no link's level shows its distance to one.
// Each link into a sending leaf reads received.
func burstsInto(g *topology.Graph, seed int64, received float32) stalls.Painting {
	rng := rand.New(rand.NewSource(seed))
	values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		isTo0 := func(d *topology.Device) bool {
			return strings.HasSuffix(d.Name, "-0") || strings.HasSuffix(d.Name, "-1")
		}
		asItHappens := float32(20 + 70*rng.Float64())
		switch {
		case from.Level == 2 && (to.Name == "leaf0-0" && isTo0(from) || to.Name == "leaf3-0" && !isTo0(from)),
			from.Level == 3 && (to.Group == 0 && isTo0(to) || to.Group == 3 && !isTo0(to)),
			from.Group == 1 && from.Level >= 1 && to.Level > from.Level:
			return asItHappens, false
		case to.Group == 1 && to.Level == 1 && from.Level == 2:
			return received, false
		}
		return 0, false
	})
	return values
}

// Hosts that exchange receive, too. Traffic from leaves that only send belongs to trees, which stay separate however
// badly they explain their links; if the leaves receive, even if no single link counts, all may be one exchange.
func TestTreesOfLeavesThatOnlySendAreNotJoined(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	s := segmenttest.New(t, g, segment.DefaultConfig())
	for _, c := range []struct {
		received float32
		want     func(regions int) bool
	}{
		{0, func(regions int) bool { return regions >= 2 }},
		{4, func(regions int) bool { return regions == 1 }},
	} {
		right := 0
		for seed := range int64(20) {
			values := burstsInto(g, seed, c.received).Noisy(.3, seed)
			if c.want(len(s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})))) {
				right++
			}
		}
		if right < 18 {
			t.Errorf("the leaves that send receive %v%%: as many regions as there should be in %d of 20", c.received, right)
		}
	}
}
