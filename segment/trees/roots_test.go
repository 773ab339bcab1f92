package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A receiver that takes nearly all that comes hardly stalls its port, while the senders wait most of the time. The
// only stalled port of the leaf is the root; if two stall so, the root is the leaf with its port unknown.
func TestCalmPortIsRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, stalled := range []int{0, 1, 2} {
		ports := []schema.LinkID{}
		values, _ := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			if from.Name == "leaf0-2" && to.Level == 0 && len(ports) < stalled {
				ports = append(ports, id)
				return 9, true
			}
			percent = fromPod3(from, to)
			return 1.4 * percent, percent > 0
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != "leaf0-2" {
			t.Fatalf("%d ports: %s, want one with its root at leaf0-2", stalled, segmenttest.ToJSON(t, got))
		}
		want := schema.NoLink
		if stalled == 1 {
			want = ports[0]
		}
		if got[0].Root.Link != want {
			t.Errorf("%d ports: root is link %d, want %d", stalled, got[0].Root.Link, want)
		}
	}
}

// The port of a receiver that takes nearly all that comes may stall too little to count: of ports that do not stall, the one
// clearly above all others is the root. If another is nearly as high, both may be noise.
func TestClearestPortIsRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, second := range []float32{0, 3} {
		ports := []schema.LinkID{}
		values, _ := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			if from.Name == "leaf0-2" && to.Level == 0 && len(ports) < 2 {
				ports = append(ports, id)
				return []float32{4, second}[len(ports)-1], false
			}
			percent = fromPod3(from, to)
			return 1.4 * percent, percent > 0
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.3, 1))
		if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != "leaf0-2" {
			t.Fatalf("a second port at %v: %s, want one with its root at leaf0-2", second, segmenttest.ToJSON(t, got))
		}
		want := schema.NoLink
		if second == 0 {
			want = ports[0]
		}
		if got[0].Root.Link != want {
			t.Errorf("a second port at %v: root is link %d, want %d", second, got[0].Root.Link, want)
		}
	}
}
