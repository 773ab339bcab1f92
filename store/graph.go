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
		name, columns string
		rows          rowSet
	}{
		{"devices", "fabric, graph_version, device, name, kind, guid, label, level, device_group, coord", g.deviceRows()},
		{"links", "fabric, graph_version, link, from_device, from_port, to_device, to_port, class, capacity, dim, coord, up", g.linkRows()},
		{"fabrics", "fabric, graph_version, valid_from, duplex, grid_dims, grid_wrap, devices, links, stored_at", g.fabricRow(db.now())},
	} {
		present, err := db.countRows(ctx, t.name, "", k)
		if err != nil {
			return err
		}
		if err := db.storeRows(ctx, t.name, t.columns, t.rows, k, present); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) deviceRows() rowSet {
	d, n := g.Devices, len(g.Devices)
	return rowSet{n, []column{repeat(g.Fabric, n), repeat(g.Version, n), ranks(n),
		each(d, func(d *Device) string { return d.Name }),
		each(d, func(d *Device) string { return d.Kind }),
		each(d, func(d *Device) string { return d.GUID }),
		each(d, func(d *Device) string { return d.Label }),
		each(d, func(d *Device) int8 { return int8(d.Level) }),
		each(d, func(d *Device) int32 { return int32(d.Group) }),
		eachNested(d, func(d *Device) []int32 { return convert[int32](d.Coord) })}}
}

func (g *Graph) linkRows() rowSet {
	l, n := g.Links, len(g.Links)
	return rowSet{n, []column{repeat(g.Fabric, n), repeat(g.Version, n), ranks(n),
		each(l, func(l *Link) string { return l.FromDevice }),
		each(l, func(l *Link) string { return l.FromPort }),
		each(l, func(l *Link) string { return l.ToDevice }),
		each(l, func(l *Link) string { return l.ToPort }),
		each(l, func(l *Link) string { return l.Class }),
		each(l, func(l *Link) float64 { return l.CapacityBytesPerSecond }),
		each(l, func(l *Link) int8 { return int8(l.Dim) }),
		eachNested(l, func(l *Link) []int32 { return convert[int32](l.Coord) }),
		each(l, func(l *Link) bool { return l.Up })}}
}

func (g *Graph) fabricRow(at time.Time) rowSet {
	return rowSet{1, []column{plain[string]{g.Fabric}, plain[uint64]{g.Version}, plain[time.Time]{instant(g.ValidFromNanos)}, plain[bool]{g.Duplex},
		nested[[]uint32]{convert[uint32](g.GridDims)}, plain[bool]{g.GridWrap}, plain[uint32]{uint32(len(g.Devices))}, plain[uint32]{uint32(len(g.Links))},
		plain[time.Time]{at}}}
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
