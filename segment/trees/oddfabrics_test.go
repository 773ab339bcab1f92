package trees_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Fabrics that discovery may find, whole or in part: single switches, switches without hosts, cables within a level, hosts
// that are cabled to hosts. None stops the segmentation.
func TestOddFabrics(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := oddFabric(t, rng)
		for _, overlap := range []bool{false, true} {
			cfg := segment.DefaultConfig()
			cfg.Overlap = overlap
			s := segmenttest.New(t, g, cfg)
			for range 3 {
				values, high := make([]float32, g.NumLinks()), rng.Float64()
				for l := range values {
					switch p := rng.Float64(); {
					case p < high:
						values[l] = float32(30 + 40*rng.Float64())
					case p < high+.05:
						values[l] = linkset.Missing
					default:
						values[l] = float32(rng.Float64())
					}
				}
				s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values}))
			}
		}
	}
}

func oddFabric(t *testing.T, rng *rand.Rand) *topology.Graph {
	t.Helper()
	b, ports := topology.NewBuilder("odd"), 0
	var devices []topology.DeviceID
	for n := range 1 + rng.IntN(4) {
		devices = append(devices, b.Device(topology.Device{Name: fmt.Sprint("s", n), Kind: topology.Switch, Level: int8(1 + rng.IntN(1+rng.IntN(3))), Group: -1}))
	}
	switches := len(devices)
	for n := range 1 + rng.IntN(24) {
		devices = append(devices, b.Device(topology.Device{Name: fmt.Sprint("h", n), Kind: topology.Host, Group: -1}))
	}
	cable := func(a, z topology.DeviceID) {
		if ports++; a != z {
			b.Both(topology.Link{From: a, FromPort: fmt.Sprint(ports), To: z, ToPort: fmt.Sprint(ports), CapacityBytesPerSecond: 25e9, Class: topology.ClassSwitch, Dim: -1})
		}
	}
	for _, host := range devices[switches:] {
		cable(host, devices[rng.IntN(switches)])
	}
	for range rng.IntN(8) {
		cable(devices[rng.IntN(switches)], devices[rng.IntN(switches)])
	}
	if rng.IntN(4) == 0 {
		cable(devices[rng.IntN(len(devices))], devices[rng.IntN(len(devices))])
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}
