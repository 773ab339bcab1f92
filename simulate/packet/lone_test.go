package packet

import (
	"fmt"
	"math"
	"testing"

	"github.com/giverny/giverny/topology"
)

// TestLoneFlowIsNotSlowed: with DCQCN on, a put alone on the fabric takes its closed
// form, because packets are marked at switch egress and no switch has a queue; the
// queue in the host's own NIC does not count.
func TestLoneFlowIsNotSlowed(t *testing.T) {
	for _, fabric := range []struct {
		spec     string
		to       topology.DeviceID
		switches float64
	}{
		{"fattree:leaves=4,hosts=4,spines=4", 1, 1},
		{"fattree:leaves=4,hosts=4,spines=4", 5, 3},
		{"torus:4x4", 2, 1},
	} {
		for _, link := range []float64{3.125, 12.5, 25} {
			for _, bytes := range []int64{1 << 16, 4 << 20, 40_000_000} {
				t.Run(fmt.Sprintf("%s/to=%d/link=%v/bytes=%d", fabric.spec, fabric.to, link, bytes), func(t *testing.T) {
					cfg := DefaultConfig()
					cfg.FlowControl, cfg.LinkSpeed, cfg.HeaderBytes = PFC, link, 60
					cfg.BufferBytes, cfg.XoffBytes, cfg.XonBytes = 256<<10, 160<<10, 128<<10
					cfg.DMASpeed, cfg.DMAChannels, cfg.Rate.Enabled = 0.7*link, 4, true
					s := newSim(t, fabric.spec, cfg)
					id := post(t, s, Request{From: 0, To: fabric.to, Bytes: bytes})
					finish(t, s)
					packets := math.Ceil(float64(bytes) / 4096)
					want := 2*4096/cfg.DMASpeed + (float64(bytes)+60*packets)/link + 140*fabric.switches + 0.6*(fabric.switches+1)
					near(t, "arrival", s.Times(id).Arrived.Nanoseconds(), want, 0.005*want)
					for i := range s.fabric.channels {
						if n := s.fabric.channels[i].counters.marks; n > 0 {
							t.Errorf("channel %d marked %d packets", i, n)
						}
					}
				})
			}
		}
	}
}
