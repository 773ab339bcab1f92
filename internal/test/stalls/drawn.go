package stalls

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// Reporter is the common part of testing.T and rapid.T.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// DrawGraph draws a small fabric: a common topology, or any set of cables, with hosts,
// parallel cables, and loops at a switch.
func DrawGraph(t *rapid.T) *topology.Graph {
	side := rapid.IntRange(2, 5)
	few := rapid.IntRange(1, 4)
	spec := ""
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		spec = fmt.Sprintf("torus:%dx%dx%d", side.Draw(t, "x"), side.Draw(t, "y"), side.Draw(t, "z"))
	case 1:
		spec = fmt.Sprintf("mesh:%dx%d", side.Draw(t, "x"), side.Draw(t, "y"))
	case 2:
		spec = fmt.Sprintf("fattree:leaves=%d,hosts=%d,spines=%d", few.Draw(t, "leaves"), few.Draw(t, "hosts"), few.Draw(t, "spines"))
	case 3:
		spec = fmt.Sprintf("dragonfly:groups=%d,routers=%d,hosts=%d", 1+few.Draw(t, "groups"), few.Draw(t, "routers"), few.Draw(t, "hosts"))
	default:
		return drawCables(t)
	}
	return topologytest.Parse(t, "drawn", spec)
}

func drawCables(t *rapid.T) *topology.Graph {
	b := topology.NewBuilder("drawn")
	if rapid.Bool().Draw(t, "duplex") {
		b.SetDuplex()
	}
	devices := rapid.IntRange(2, 12).Draw(t, "devices")
	for d := range devices {
		b.Device(topology.Device{Name: fmt.Sprint("d", d), Kind: topology.DeviceKind(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "device")), Level: -1, Group: -1})
	}
	end := rapid.IntRange(0, devices-1)
	for i := range rapid.IntRange(1, 40).Draw(t, "cables") {
		b.Both(topology.Link{From: topology.DeviceID(end.Draw(t, "from")), FromPort: fmt.Sprint("a", i),
			To: topology.DeviceID(end.Draw(t, "to")), ToPort: fmt.Sprint("z", i), Class: topology.ClassSwitch, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// DrawValues draws patches with noise and holes, or arbitrary values.
func DrawValues(t *rapid.T, g *topology.Graph) []float32 {
	n := g.NumLinks()
	if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
		return rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "values")
	}
	noise := rapid.SampledFrom([]float32{0, .1, 1, 5}).Draw(t, "noise")
	values := rapid.SliceOfN(rapid.Float32Range(0, noise), n, n).Draw(t, "noises")
	for range rapid.IntRange(0, 4).Draw(t, "patches") {
		first := schema.LinkID(rapid.IntRange(0, n-1).Draw(t, "first"))
		level := rapid.Float32Range(-10, 100).Draw(t, "level")
		for _, l := range Blob(g, first, rapid.IntRange(1, 30).Draw(t, "links")) {
			values[l] += level
		}
	}
	return values
}

// Reading returns the meaning of a value: a percentage, or false for missing.
func Reading(s *schema.Series, l schema.LinkID) (float64, bool) {
	v := float64(s.Values[l])
	if !s.Valid.Has(int(l)) || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return min(max(v, 0), 100), true
}
