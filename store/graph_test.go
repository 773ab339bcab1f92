package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGraphRoundTrip(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	g := Graph{Fabric: "bw", Version: 1<<63 + 1, ValidFromNanos: 5 * minute, Duplex: true, GridDims: []int{70_000, 2}, GridWrap: true,
		Devices: []Device{{Name: "0,0", Kind: "switch", Level: -1, Group: -1, Coord: []int{0, 0}},
			{Name: "h", Kind: "host", GUID: "0x1", Label: "rack 1\tU2", Level: 0, Group: 3, Coord: []int{}}},
		Links: []Link{{FromDevice: "0,0", FromPort: "X+", ToDevice: "h", ToPort: "1", Class: "host", CapacityBytesPerSecond: 12.5e9, Dim: -1, Coord: []int{69_999, 0}, Up: true},
			{FromDevice: "h", FromPort: "1", ToDevice: "0,0", ToPort: "X-", Class: "torus", CapacityBytesPerSecond: 1, Dim: 1, Coord: []int{}}}}
	newer := g
	newer.Version, newer.ValidFromNanos, newer.Links = 2, 6*minute, g.Links[:1]
	for range 2 {
		for _, g := range []Graph{g, newer} {
			if err := db.StoreGraph(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := db.Graph(ctx, "bw", g.Version)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&g, got); diff != "" {
		t.Error(diff)
	}
	if got, err = db.LatestGraph(ctx, "bw"); err != nil || got.Version != 2 || len(got.Links) != 1 {
		t.Errorf("latest: %+v, %v", got, err)
	}
	// Back to the first graph: the intervals say which is in force.
	r := someResult("bw", 9, 10)
	r.Snapshot.GraphVersion = g.Version
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if versions, err := db.Fabrics(ctx); err != nil || versions["bw"] != g.Version {
		t.Errorf("Fabrics = %v, %v", versions, err)
	}
	if err := db.StoreGraph(ctx, Graph{Fabric: "bw"}); err == nil {
		t.Error("a graph without links is no error")
	}
}
