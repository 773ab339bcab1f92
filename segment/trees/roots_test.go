package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A receiver that takes nearly all that comes hardly stalls its port, while the senders wait most of the time. Of the ports
// of the leaf the only stalled one is the root, and of those that stall too little to count the one clearly above all
// others. If two are as high, the port is unknown: the root is the leaf.
func TestCalmPortIsRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, c := range []struct {
		ports  []float32 // percent
		counts bool      // they stall enough to be in the region
		noise  float32
		known  bool
	}{
		{nil, true, .7, false}, {[]float32{9}, true, .7, true}, {[]float32{9, 9}, true, .7, false},
		{[]float32{4, 0}, false, .3, true}, {[]float32{4, 3}, false, .3, false},
	} {
		ports := []schema.LinkID{}
		values, _ := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			if from.Name == "leaf0-2" && to.Level == 0 && len(ports) < len(c.ports) {
				ports = append(ports, id)
				return c.ports[len(ports)-1], c.counts
			}
			percent = fromPod3(from, to)
			return 1.4 * percent, percent > 0
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(c.noise, 1))
		if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != "leaf0-2" {
			t.Fatalf("ports at %v: %s, want one with its root at leaf0-2", c.ports, segmenttest.ToJSON(t, got))
		}
		want := schema.NoLink
		if c.known {
			want = ports[0]
		}
		if got[0].Root.Link != want {
			t.Errorf("ports at %v: root is link %d, want %d", c.ports, got[0].Root.Link, want)
		}
	}
}
