package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Graph is one version of a fabric, as it is kept: devices and links by number.
type Graph struct {
	Fabric         string
	Version        uint64
	ValidFromNanos int64 // when it came into force
	Duplex         bool  // a link stands for both directions
	GridDims       []int // sizes of a torus or mesh, or empty
	GridWrap       bool
	Devices        []Device
	Links          []Link
}

// Device is a switch or host.
type Device struct {
	Name  string
	Kind  string
	GUID  string
	Label string
	Level int
	Group int
	Coord []int
}

// Link is an edge from one port to another.
type Link struct {
	FromDevice, FromPort   string
	ToDevice, ToPort       string
	Class                  string
	CapacityBytesPerSecond float64
	Dim                    int
	Coord                  []int // of the device that it leaves
	Up                     bool
}

// StoreGraph keeps one version of a fabric, once. It tries until ctx ends.
func (db *DB) StoreGraph(ctx context.Context, g Graph) error {
	if g.Fabric == "" || len(g.Links) == 0 {
		return errors.New("store a graph: it has no name or no links")
	}
	k := key{fabric: g.Fabric, start: instant(0), version: g.Version}
	present, err := db.countRows(ctx, "fabrics", "", k)
	if err != nil || present > 0 {
		return err
	}
	for _, t := range []struct {
		name string
		rows rowSet
	}{{"devices", g.deviceRows()}, {"links", g.linkRows()}, {"fabrics", g.fabricRow(db.now())}} {
		present, err := db.countRows(ctx, t.name, "", k)
		if err != nil {
			return err
		}
		if err := db.storeRows(ctx, t.name, t.rows, k, present); err != nil {
			return err
		}
	}
	return nil
}

// fields are the columns of n rows that say whose they are.
func (g *Graph) fields(n int, own ...field) rowSet {
	return rowSet{n, append([]field{{"fabric", repeat(g.Fabric, n)}, {"graph_version", repeat(g.Version, n)}}, own...)}
}

func (g *Graph) deviceRows() rowSet {
	d := g.Devices
	return g.fields(len(d),
		field{"device", ranks(len(d))},
		field{"name", each(d, func(d *Device) string { return d.Name })},
		field{"kind", each(d, func(d *Device) string { return d.Kind })},
		field{"guid", each(d, func(d *Device) string { return d.GUID })},
		field{"label", each(d, func(d *Device) string { return d.Label })},
		field{"level", each(d, func(d *Device) int8 { return int8(d.Level) })},
		field{"device_group", each(d, func(d *Device) int32 { return int32(d.Group) })},
		field{"coord", eachNested(d, func(d *Device) []int32 { return convert[int32](d.Coord) })})
}

func (g *Graph) linkRows() rowSet {
	l := g.Links
	return g.fields(len(l),
		field{"link", ranks(len(l))},
		field{"from_device", each(l, func(l *Link) string { return l.FromDevice })},
		field{"from_port", each(l, func(l *Link) string { return l.FromPort })},
		field{"to_device", each(l, func(l *Link) string { return l.ToDevice })},
		field{"to_port", each(l, func(l *Link) string { return l.ToPort })},
		field{"class", each(l, func(l *Link) string { return l.Class })},
		field{"capacity", each(l, func(l *Link) float64 { return l.CapacityBytesPerSecond })},
		field{"dim", each(l, func(l *Link) int8 { return int8(l.Dim) })},
		field{"coord", eachNested(l, func(l *Link) []int32 { return convert[int32](l.Coord) })},
		field{"up", each(l, func(l *Link) bool { return l.Up })})
}

func (g *Graph) fabricRow(at time.Time) rowSet {
	return g.fields(1,
		field{"valid_from", repeat(instant(g.ValidFromNanos), 1)},
		field{"duplex", repeat(g.Duplex, 1)},
		field{"grid_dims", nested[[]uint32]{convert[uint32](g.GridDims)}},
		field{"grid_wrap", repeat(g.GridWrap, 1)},
		field{"devices", repeat(uint32(len(g.Devices)), 1)},
		field{"links", repeat(uint32(len(g.Links)), 1)},
		field{"stored_at", repeat(at, 1)})
}

// LatestGraph is the newest version of a fabric: that of its last interval, or
// the last one that came into force. ErrNotFound: the fabric is not known.
func (db *DB) LatestGraph(ctx context.Context, fabric string) (*Graph, error) {
	versions, err := db.Fabrics(ctx)
	if err != nil {
		return nil, err
	}
	version, known := versions[fabric]
	if !known {
		return nil, fmt.Errorf("graph of fabric %q: %w", fabric, ErrNotFound)
	}
	return db.Graph(ctx, fabric, version)
}

// Fabrics are the names of all fabrics in the store, each with the version of
// its newest graph.
func (db *DB) Fabrics(ctx context.Context) (map[string]uint64, error) {
	rows, err := ask[struct {
		Fabric  string `ch:"fabric"`
		Version uint64 `ch:"graph_version"`
	}](ctx, db, "fabrics", nil)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]uint64, len(rows))
	for _, r := range rows {
		versions[r.Fabric] = r.Version
	}
	return versions, nil
}

// Graph is one version of a fabric. ErrNotFound: it is not stored, or not yet
// in full.
func (db *DB) Graph(ctx context.Context, fabric string, version uint64) (*Graph, error) {
	a := args{"fabric": fabric, "version": version}
	found, err := ask[struct {
		ValidFrom time.Time `ch:"valid_from"`
		Duplex    bool      `ch:"duplex"`
		GridDims  []uint32  `ch:"grid_dims"`
		GridWrap  bool      `ch:"grid_wrap"`
	}](ctx, db, "graph", a)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("graph %x of fabric %q: %w", version, fabric, ErrNotFound)
	}
	g := &Graph{Fabric: fabric, Version: version, ValidFromNanos: found[0].ValidFrom.UnixNano(), Duplex: found[0].Duplex,
		GridDims: convert[int](found[0].GridDims), GridWrap: found[0].GridWrap}
	if g.Devices, err = db.devices(ctx, a); err != nil {
		return nil, err
	}
	g.Links, err = db.links(ctx, a)
	return g, err
}

func (db *DB) devices(ctx context.Context, a args) ([]Device, error) {
	rows, err := ask[struct {
		Name  string  `ch:"name"`
		Kind  string  `ch:"kind"`
		GUID  string  `ch:"guid"`
		Label string  `ch:"label"`
		Level int8    `ch:"level"`
		Group int32   `ch:"device_group"`
		Coord []int32 `ch:"coord"`
	}](ctx, db, "devices", a)
	devices := make([]Device, len(rows))
	for i, r := range rows {
		devices[i] = Device{Name: r.Name, Kind: r.Kind, GUID: r.GUID, Label: r.Label, Level: int(r.Level), Group: int(r.Group), Coord: convert[int](r.Coord)}
	}
	return devices, err
}

func (db *DB) links(ctx context.Context, a args) ([]Link, error) {
	rows, err := ask[struct {
		FromDevice string  `ch:"from_device"`
		FromPort   string  `ch:"from_port"`
		ToDevice   string  `ch:"to_device"`
		ToPort     string  `ch:"to_port"`
		Class      string  `ch:"class"`
		Capacity   float64 `ch:"capacity"`
		Dim        int8    `ch:"dim"`
		Coord      []int32 `ch:"coord"`
		Up         bool    `ch:"up"`
	}](ctx, db, "links", a)
	links := make([]Link, len(rows))
	for i, r := range rows {
		links[i] = Link{FromDevice: r.FromDevice, FromPort: r.FromPort, ToDevice: r.ToDevice, ToPort: r.ToPort, Class: r.Class,
			CapacityBytesPerSecond: r.Capacity, Dim: int(r.Dim), Coord: convert[int](r.Coord), Up: r.Up}
	}
	return links, err
}
