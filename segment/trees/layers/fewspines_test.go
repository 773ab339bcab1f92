package layers_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// withTop is a leaf-spine of eight hosts per leaf with a switch above the spines, as for management.
func withTop(t *testing.T, leaves, spines int) *topology.Graph {
	t.Helper()
	b, ports := topology.NewBuilder("top"), 0
	device := func(kind topology.DeviceKind, level int8, name string, n int) topology.DeviceID {
		return b.Device(topology.Device{Name: fmt.Sprint(name, n), Kind: kind, Level: level, Group: -1})
	}
	cable := func(a, z topology.DeviceID, class topology.LinkClass) {
		ports++
		b.Both(topology.Link{From: a, FromPort: fmt.Sprint(ports), To: z, ToPort: fmt.Sprint(ports), CapacityBytesPerSecond: 25e9, Class: class, Dim: -1})
	}
	top := device(topology.Switch, 3, "top", 0)
	var above []topology.DeviceID
	for s := range spines {
		above = append(above, device(topology.Switch, 2, "spine", s))
		cable(above[s], top, topology.ClassSwitch)
	}
	for l := range leaves {
		leaf := device(topology.Switch, 1, "leaf", l)
		for h := range 8 {
			cable(device(topology.Host, 0, "host", 8*l+h), leaf, topology.ClassHost)
		}
		for _, spine := range above {
			cable(leaf, spine, topology.ClassSwitch)
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// exchangeOver4 is an exchange among some leaves over four spines.
func exchangeOver4(percent float32, leaves ...int) stalls.ByEnds {
	s := stalls.ByEnds{}
	for _, leaf := range leaves {
		for spine := range 4 {
			up := [2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}
			s[up], s[[2]string{up[1], up[0]}] = percent, percent
		}
	}
	return s
}

// Exchanges over all spines are found by their levels even with few spines, which make levels less certain, and with
// a switch above the spines that no leaf needs.
func TestExchangesOverFewSpines(t *testing.T) {
	for name, g := range map[string]*topology.Graph{"leaf-spine": stalls.Fabric(t, "fattree:leaves=8,hosts=8,spines=4"), "a switch above": withTop(t, 8, 4)} {
		low, high := exchangeOver4(20, 0, 1, 2), exchangeOver4(45, 3, 4, 5)
		segmenttest.WantRegions(t, name+", two exchanges", g, segmenttest.Find(t, g, segmenttest.Overlapping(), low.Plus(high).On(t, g).Noisy(.6, 1)), low, high)

		slow := stalls.ByEnds{{"leaf6", "spine1"}: 60}
		for host := range 8 {
			slow[[2]string{fmt.Sprint("host", 48+host), "leaf6"}] = 57
		}
		segmenttest.WantRegions(t, name+", a slow cable", g, segmenttest.Find(t, g, segmenttest.Overlapping(), high.Plus(slow).On(t, g).Noisy(.6, 1)), high, slow)
	}
}

// A leaf takes part by what it sends if too few of its downlinks have a reading to know their level.
func TestLeafOfWhichFewWaysAreRead(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=8,hosts=8,spines=4")
	exchange := exchangeOver4(30, 0, 1, 2, 3)
	delete(exchange, [2]string{"spine0", "leaf3"})
	delete(exchange, [2]string{"spine1", "leaf3"})
	values := exchange.On(t, g).Noisy(.6, 1)
	values[stalls.LinkNamed(t, g, "spine0", "leaf3")] = linkset.Missing
	values[stalls.LinkNamed(t, g, "spine1", "leaf3")] = 0
	segmenttest.WantRegions(t, "two of four", g, segmenttest.Find(t, g, segmenttest.Overlapping(), values), exchange)
}
