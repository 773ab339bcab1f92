//go:build engine || integration

package read

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// Every graph is read back link by link, including one with links that are down.
func TestGraphsComeBack(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	for _, spec := range []string{"torus:4x3x2", "mesh:5x2", "fattree:k=4", "dragonfly:groups=3,routers=4,hosts=2"} {
		whole := topologytest.Parse(t, spec, spec)
		next := topology.NewVersion(whole)
		for id := range schema.LinkID(whole.NumLinks() - 3) {
			next.Link(whole.Link(id))
		}
		part, err := next.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []*topology.Graph{whole, part} {
			for range 2 {
				if err := m.db.StoreGraph(ctx, store.GraphOf(g, 5)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := m.Graph(ctx, spec, g.Version())
			if err != nil {
				t.Fatal(err)
			}
			if !sameGraph(g, got) {
				t.Errorf("%s: version %016x comes back different", spec, g.Version())
			}
		}
	}
	if _, err := m.Graph(ctx, "torus:4x3x2", 1); !isNotFound(err) {
		t.Errorf("a version that is not stored: %v", err)
	}
	if err := m.db.StoreGraph(ctx, store.Graph{Fabric: "bw"}); err == nil {
		t.Error("a graph without links is no error")
	}
}

func sameGraph(a, b *topology.Graph) bool {
	if a.Version() != b.Version() || a.NumLinks() != b.NumLinks() || a.NumDevices() != b.NumDevices() || a.Duplex() != b.Duplex() || !cmp.Equal(a.Grid(), b.Grid()) {
		return false
	}
	for id := range schema.LinkID(a.NumLinks()) {
		if a.Link(id) != b.Link(id) {
			return false
		}
	}
	for id := range topology.DeviceID(a.NumDevices()) {
		if !cmp.Equal(a.Device(id), b.Device(id)) {
			return false
		}
	}
	return true
}
