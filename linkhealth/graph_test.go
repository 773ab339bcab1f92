package linkhealth_test

import (
	"testing"
	"time"

	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// pairOf returns two switches with one cable, which the file of the topology lists from either end.
func pairOf(t *testing.T, fromB bool) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder("f")
	ends := [2]topology.DeviceID{b.Device(topology.Device{Name: "a", Kind: topology.Switch, GUID: "0x2c90300000001"}), b.Device(topology.Device{Name: "b", Kind: topology.Switch})}
	link := topology.Link{From: ends[0], To: ends[1], FromPort: "1", ToPort: "2", CapacityBytesPerSecond: 1e9, Dim: -1, Up: true}
	if fromB {
		link.From, link.To, link.FromPort, link.ToPort = link.To, link.From, link.ToPort, link.FromPort
	}
	b.Both(link)
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A port is known by its device's name and by its GUID, as perfquery has it. A cable stays the same if another version of the
// fabric lists it from its other end.
func TestACableByAnyOfItsNames(t *testing.T) {
	m, err := linkhealth.New(pairOf(t, false), linkhealth.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	interval := schema.IntervalAt(0, int64(time.Minute))
	step := func(device string, state uint64) (kinds string) {
		raw := &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: device, Port: "1"}}, TimeNanos: []int64{interval.StartNanos}, PortIndex: []uint32{0},
			Columns: []schema.CounterColumn{{Name: "ib.port_state", Values: []uint64{state}}}}
		for _, e := range m.Step(&schema.Snapshot{Fabric: "f", Interval: interval, Links: 2}, []*schema.CounterBatch{raw}, nil) {
			kinds += string(e.Kind) + " "
		}
		interval = interval.Next()
		return kinds
	}
	if got := step("0x2c90300000001", 1) + step("0x2c90300000001", 1); got != "link_failed " {
		t.Errorf("a port that is down, by its GUID: %q", got)
	}
	m.SetGraph(pairOf(t, true))
	if got := step("a", 1) + step("a", 1); got != "" {
		t.Errorf("listed from the other end, the failed link is new: %q", got)
	}
	if got := step("a", 4) + step("a", 4); got != "link_restored " {
		t.Errorf("listed from the other end, the link returns: %q", got)
	}
}
