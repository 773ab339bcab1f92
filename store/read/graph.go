package read

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/giverny/giverny/topology"
)

// Version identifies a graph. Its text, also in JSON, has sixteen hexadecimal
// digits, since browsers lose digits of so large a number.
type Version uint64

func (v Version) String() string { return fmt.Sprintf("%016x", uint64(v)) }

// MarshalText encodes v as hexadecimal digits.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText accepts only what MarshalText produces.
func (v *Version) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || Version(n).String() != string(text) {
		return fmt.Errorf("graph version %q: want sixteen hexadecimal digits, in lower case", text)
	}
	*v = Version(n)
	return nil
}

// Graph returns one version of a fabric, or ErrNotFound if it is not (yet
// completely) stored.
func (m *Model) Graph(ctx context.Context, fabric string, version uint64) (*topology.Graph, error) {
	a := Args{"fabric": fabric, "version": version}
	found, err := lookup[struct {
		Duplex   bool     `ch:"duplex"`
		GridDims []uint32 `ch:"grid_dims"`
		GridWrap bool     `ch:"grid_wrap"`
	}](ctx, m, "graph", a)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("graph %v of fabric %q: %w", Version(version), fabric, ErrNotFound)
	}
	b := topology.NewBuilder(fabric)
	if found[0].Duplex {
		b.SetDuplex()
	}
	if dims := numbers[int](found[0].GridDims); len(dims) > 0 {
		b.SetGrid(topology.Grid{Dims: dims, Wrap: found[0].GridWrap})
	}
	numberOf, err := m.devices(ctx, a, b)
	if err != nil {
		return nil, err
	}
	links, err := m.links(ctx, a, numberOf)
	if err != nil {
		return nil, err
	}
	g, err := build(b, links)
	if err != nil {
		return nil, fmt.Errorf("stored graph %v of fabric %q: %w", Version(version), fabric, err)
	}
	if g.Version() != version {
		return nil, fmt.Errorf("stored graph %v of fabric %q has the content of version %v", Version(version), fabric, Version(g.Version()))
	}
	return g, nil
}

// build adds the links. Those that are down are links of a previous version.
func build(b *topology.Builder, links []topology.Link) (*topology.Graph, error) {
	for _, l := range links {
		b.Link(l)
	}
	g, err := b.Build()
	if err != nil || !slices.ContainsFunc(links, func(l topology.Link) bool { return !l.Up }) {
		return g, err
	}
	b = topology.NewVersion(g)
	for _, l := range links {
		if l.Up {
			b.Link(l)
		}
	}
	return b.Build()
}

// devices adds the devices to a builder and returns their numbers by name.
func (m *Model) devices(ctx context.Context, a Args, to *topology.Builder) (map[string]topology.DeviceID, error) {
	found, err := lookup[struct {
		Name  string  `ch:"name"`
		Kind  string  `ch:"kind"`
		GUID  string  `ch:"guid"`
		Label string  `ch:"label"`
		Level int8    `ch:"level"`
		Group int32   `ch:"device_group"`
		Coord []int32 `ch:"coord"`
	}](ctx, m, "devices", a)
	numberOf := make(map[string]topology.DeviceID, len(found))
	for _, r := range found {
		d := topology.Device{Name: r.Name, GUID: r.GUID, Label: r.Label, Level: r.Level, Group: r.Group}
		if r.Kind == topology.Host.String() {
			d.Kind = topology.Host
		}
		if len(r.Coord) > 0 {
			d.Coord = numbers[int](r.Coord)
		}
		numberOf[d.Name] = to.Device(d)
	}
	return numberOf, err
}

func (m *Model) links(ctx context.Context, a Args, numberOf map[string]topology.DeviceID) ([]topology.Link, error) {
	type row struct {
		From     string  `ch:"from_device"`
		FromPort string  `ch:"from_port"`
		To       string  `ch:"to_device"`
		ToPort   string  `ch:"to_port"`
		Class    string  `ch:"class"`
		Capacity float64 `ch:"capacity"`
		Dim      int8    `ch:"dim"`
		Up       bool    `ch:"up"`
	}
	classes := map[string]topology.LinkClass{}
	for c := topology.ClassHost; c <= topology.ClassTorus; c++ {
		classes[c.String()] = c
	}
	found, err := lookup[row](ctx, m, "links", a)
	return convert(found, err, func(r *row) (topology.Link, error) {
		from, known := numberOf[r.From]
		to, alsoKnown := numberOf[r.To]
		if !known || !alsoKnown {
			return topology.Link{}, fmt.Errorf("stored link from %q to %q: no such device", r.From, r.To)
		}
		return topology.Link{From: from, To: to, FromPort: r.FromPort, ToPort: r.ToPort,
			CapacityBytesPerSecond: r.Capacity, Class: classes[r.Class], Dim: r.Dim, Up: r.Up}, nil
	})
}
