package store

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Graph is one version of a fabric as it is stored: devices and links by number.
type Graph struct {
	Fabric         string
	Version        uint64
	ValidFromNanos int64 // when it took effect
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
	Coord                  []int // of the device at the link's start
	Up                     bool
}

// GraphOf converts a topology's graph to the form in which it is stored.
func GraphOf(g *topology.Graph, validFromNanos int64) Graph {
	s := Graph{Fabric: g.Fabric(), Version: g.Version(), ValidFromNanos: validFromNanos, Duplex: g.Duplex()}
	if grid := g.Grid(); grid != nil {
		s.GridDims, s.GridWrap = grid.Dims, grid.Wrap
	}
	for id := range topology.DeviceID(g.NumDevices()) {
		d := g.Device(id)
		s.Devices = append(s.Devices, Device{Name: d.Name, Kind: d.Kind.String(), GUID: d.GUID, Label: d.Label, Level: int(d.Level), Group: int(d.Group), Coord: d.Coord})
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		s.Links = append(s.Links, Link{FromDevice: g.Device(l.From).Name, FromPort: l.FromPort, ToDevice: g.Device(l.To).Name, ToPort: l.ToPort,
			Class: l.Class.String(), CapacityBytesPerSecond: l.CapacityBytesPerSecond, Dim: int(l.Dim), Coord: g.Device(l.From).Coord, Up: l.Up})
	}
	return s
}

// StoreGraph stores one version of a fabric, once. It retries until ctx ends.
func (db *DB) StoreGraph(ctx context.Context, g Graph) error {
	if g.Fabric == "" || len(g.Links) == 0 {
		return errors.New("store a graph: it has no name or no links")
	}
	k := key{fabric: g.Fabric, start: instant(0), version: g.Version}
	present, err := db.writer.countRows(ctx, "fabrics", "", k)
	if err != nil || present > 0 {
		return err
	}
	for _, t := range []struct {
		name string
		rows rowSet
	}{{"devices", g.deviceRows()}, {"links", g.linkRows()}, {"fabrics", g.fabricRow(db.now())}} {
		present, err := db.writer.countRows(ctx, t.name, "", k)
		if err != nil {
			return err
		}
		if err := db.writer.storeRows(ctx, &table{name: t.name}, t.rows, k, present, true); err != nil {
			return err
		}
	}
	return nil
}

// fields returns n rows with the columns that identify the graph, then own.
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
