package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A tree whose senders push, beside an uneven exchange, is a region of its own if its receiver's port stalls, however
// little, since all of it waits for that; or if the links down to its leaf stall most of the time, which few ports
// cause. If no port stalls, and many may be full, all is one region.
func TestTreeOfAReceiverIsNoneOfAnExchange(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=8,spines=8")
	exchange := map[string]bool{"leaf2": true, "leaf3": true, "leaf4": true}
	sends := map[string]bool{"leaf0": true, "leaf1": true}
	for _, c := range []struct {
		port, down float32
		regions    int
	}{{0, 40, 1}, {12, 40, 2}, {0, 70, 2}} {
		values, _ := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (float32, bool) {
			switch {
			case from.Name == "leaf9" && to.Name == "host72":
				return c.port, false
			case from.Level == 2 && to.Name == "leaf9":
				return c.down, false
			case from.Level == 2 && exchange[to.Name], exchange[from.Name] && to.Level == 2:
				return 8 + 4*float32(id%7), false
			case sends[from.Name] && to.Level == 2:
				return 60, false
			case from.Level == 0 && sends[to.Name]:
				return 80, false
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != c.regions {
			t.Errorf("port at %v%%, ways down at %v%%: %s, want %d regions", c.port, c.down, segmenttest.Sizes(got), c.regions)
		}
	}
}
