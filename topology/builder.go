package topology

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/giverny/giverny/schema"
)

// Builder collects devices and links and checks them.
type Builder struct {
	g      Graph
	ports  map[string]uint32
	byPort map[endKey]schema.LinkID // by the port that the link leaves
	absent []bool                   // by device of an earlier version: not added again so far
	errs   []error
}

type endKey struct {
	device DeviceID
	port   uint32
}

// NewBuilder starts a graph of directed links.
func NewBuilder(fabric string) *Builder {
	return &Builder{g: Graph{fabric: fabric, byName: map[string]DeviceID{}, byGUID: map[string]DeviceID{}},
		ports: map[string]uint32{}, byPort: map[endKey]schema.LinkID{}}
}

// NewVersion starts the next version of a graph: every device and link of prev keeps
// its number and is down until it is added again, with the same or another peer; new
// ones get higher numbers.
func NewVersion(prev *Graph) *Builder {
	b := NewBuilder(prev.fabric)
	b.g.duplex, b.g.grid = prev.duplex, prev.grid
	for _, d := range prev.devices {
		b.Device(d)
	}
	b.absent = slices.Repeat([]bool{true}, len(prev.devices))
	for id := range prev.from {
		l := prev.Link(schema.LinkID(id))
		l.Up = false
		b.put(l)
	}
	return b
}

// SetDuplex makes each link represent both directions.
func (b *Builder) SetDuplex() { b.g.duplex = true }

// SetGrid gives the graph coordinates; every device then needs a Coord.
func (b *Builder) SetGrid(grid Grid) { b.g.grid = &grid }

// Device adds a device, or updates the existing one with that name. A GUID belongs to one device of a version: one that is
// absent loses it to the device that has it now.
func (b *Builder) Device(d Device) DeviceID {
	id, known := b.g.byName[d.Name]
	if !known {
		id = DeviceID(len(b.g.devices))
		b.g.byName[d.Name] = id
		b.g.devices = append(b.g.devices, d)
	} else {
		if before := b.g.devices[id].GUID; before != d.GUID && b.g.byGUID[before] == id {
			delete(b.g.byGUID, before)
		}
		b.g.devices[id] = d
		if int(id) < len(b.absent) {
			b.absent[id] = false
		}
	}
	if d.GUID != "" {
		b.setGUID(d, id)
	}
	return id
}

func (b *Builder) setGUID(d Device, id DeviceID) {
	if other, taken := b.g.byGUID[d.GUID]; taken && other != id {
		if int(other) >= len(b.absent) || !b.absent[other] {
			b.errs = append(b.errs, fmt.Errorf("devices %q and %q have the same GUID %s", b.g.devices[other].Name, d.Name, d.GUID))
		}
		b.g.devices[other].GUID = ""
	}
	b.g.byGUID[d.GUID] = id
}

// Link adds a link that is up. A port sends into one link only: adding the same link
// twice is allowed, a second peer for the same port is an error.
func (b *Builder) Link(l Link) schema.LinkID {
	l.Up = true
	return b.put(l)
}

// Both adds both directions of a cable between two ports; on a duplex graph, the one
// link that represents both.
func (b *Builder) Both(l Link) {
	b.Link(l)
	if !b.g.duplex {
		l.From, l.To, l.FromPort, l.ToPort = l.To, l.From, l.ToPort, l.FromPort
		b.Link(l)
	}
}

func (b *Builder) put(l Link) schema.LinkID {
	key := endKey{l.From, b.portID(l.FromPort)}
	to := b.portID(l.ToPort)
	id, known := b.byPort[key]
	if known {
		if b.g.up[id] && (b.g.to[id] != l.To || b.g.toPort[id] != to) {
			b.errs = append(b.errs, fmt.Errorf("port %s of %q leads to both %s:%s and %s:%s", l.FromPort, b.g.devices[l.From].Name,
				b.g.devices[b.g.to[id]].Name, b.g.portName[b.g.toPort[id]], b.g.devices[l.To].Name, l.ToPort))
			return id
		}
		b.g.to[id], b.g.toPort[id] = l.To, to
		b.g.capacity[id] = cmp.Or(l.CapacityBytesPerSecond, b.g.capacity[id]) // a rate that the source does not give stays
		b.g.class[id], b.g.dim[id], b.g.up[id] = l.Class, l.Dim, l.Up
		return id
	}
	id = schema.LinkID(len(b.g.from))
	b.byPort[key] = id
	g := &b.g
	g.from, g.to = append(g.from, l.From), append(g.to, l.To)
	g.fromPort, g.toPort = append(g.fromPort, key.port), append(g.toPort, to)
	g.capacity, g.class = append(g.capacity, l.CapacityBytesPerSecond), append(g.class, l.Class)
	g.dim, g.up = append(g.dim, l.Dim), append(g.up, l.Up)
	return id
}

func (b *Builder) portID(name string) uint32 {
	id, ok := b.ports[name]
	if !ok {
		id = uint32(len(b.g.portName))
		name = strings.Clone(name)
		b.ports[name] = id
		b.g.portName = append(b.g.portName, name)
	}
	return id
}

// Build validates and returns the graph. The builder must not be used afterwards.
func (b *Builder) Build() (*Graph, error) {
	g := &b.g
	if len(g.from) == 0 {
		b.errs = append(b.errs, fmt.Errorf("fabric %q has no links", g.fabric))
	}
	if id, nameless := g.byName[""]; nameless {
		b.errs = append(b.errs, fmt.Errorf("device %d of %q has no name", id, g.fabric))
	}
	for id := range g.from {
		if c := g.capacity[id]; !(c >= 0) || math.IsInf(c, 0) {
			b.errs = append(b.errs, fmt.Errorf("link %d of %q: capacity %v bytes/s", id, g.fabric, c))
		}
	}
	if g.grid != nil {
		b.checkGrid()
	}
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	b.findSwitches()
	b.countGroups()
	b.findRails()
	b.buildLinksAt()
	b.buildPorts()
	g.version = g.hash()
	return g, nil
}

func (b *Builder) findSwitches() {
	b.g.isSwitch = make([]bool, len(b.g.devices))
	for i := range b.g.devices {
		b.g.isSwitch[i] = b.g.devices[i].Kind == Switch
	}
}

func (b *Builder) countGroups() {
	b.g.switchesIn = map[int32]int{}
	for i := range b.g.devices {
		if d := &b.g.devices[i]; d.Group >= 0 && d.Kind == Switch {
			b.g.switchesIn[d.Group]++
		}
	}
}

func (b *Builder) findRails() {
	seen := map[string]bool{}
	for i := range b.g.devices {
		if d := &b.g.devices[i]; d.Kind == Host && adapterOf(d.Name) != "" {
			host := HostOf(d.Name)
			b.g.hasRails = b.g.hasRails || seen[host]
			seen[host] = true
		}
	}
}

func (b *Builder) checkGrid() {
	dims := b.g.grid.Dims
	if len(dims) < 1 || len(dims) > len(dimNames) {
		b.errs = append(b.errs, fmt.Errorf("a grid of %d dimensions: want 1 to %d", len(dims), len(dimNames)))
		return
	}
	for _, d := range b.g.devices {
		inside := len(d.Coord) == len(dims)
		for i := 0; inside && i < len(dims); i++ {
			inside = d.Coord[i] >= 0 && d.Coord[i] < dims[i]
		}
		if !inside {
			b.errs = append(b.errs, fmt.Errorf("device %q: coordinates %v do not lie on the grid %v", d.Name, d.Coord, dims))
		}
	}
}

func (b *Builder) buildLinksAt() {
	g := &b.g
	g.linksOff = make([]uint32, len(g.devices)+1)
	for id := range g.from {
		g.linksOff[g.from[id]+1]++
		if g.to[id] != g.from[id] {
			g.linksOff[g.to[id]+1]++
		}
	}
	for d := range g.devices {
		g.linksOff[d+1] += g.linksOff[d]
	}
	g.linksAt = make([]schema.LinkID, g.linksOff[len(g.devices)])
	fill := slices.Clone(g.linksOff)
	put := func(d DeviceID, l schema.LinkID) {
		g.linksAt[fill[d]] = l
		fill[d]++
	}
	for id := range g.from {
		put(g.from[id], schema.LinkID(id))
		if g.to[id] != g.from[id] {
			put(g.to[id], schema.LinkID(id))
		}
	}
}

// buildPorts lists all ports that a link leaves or enters.
func (b *Builder) buildPorts() {
	g := &b.g
	perDevice := make([][]portRow, len(g.devices))
	at := make(map[endKey]int, 2*len(g.from)) // into the rows of the device
	row := func(d DeviceID, port uint32) *PortLinks {
		i, known := at[endKey{d, port}]
		if !known {
			i = len(perDevice[d])
			at[endKey{d, port}] = i
			perDevice[d] = append(perDevice[d], portRow{port, PortLinks{schema.NoLink, schema.NoLink}})
		}
		return &perDevice[d][i].links
	}
	for i := range g.from {
		id := schema.LinkID(i)
		near := row(g.from[id], g.fromPort[id])
		near.Egress = id
		if g.duplex {
			near.Ingress = id
		}
		far := row(g.to[id], g.toPort[id])
		if far.Ingress == schema.NoLink || g.up[id] { // links that are up take precedence
			far.Ingress = id
		}
		if g.duplex {
			far.Egress = id
		}
	}
	g.portsOff = make([]uint32, len(g.devices)+1)
	for d, rows := range perDevice {
		sort.Slice(rows, func(i, j int) bool { return g.portName[rows[i].name] < g.portName[rows[j].name] })
		g.ports = append(g.ports, rows...)
		g.portsOff[d+1] = uint32(len(g.ports))
	}
}

// hash is FNV-1a over the graph's whole content, including numbers, so that the version
// depends on the content alone.
func (g *Graph) hash() uint64 {
	d := digest{fnv.New64a()}
	d.text(g.fabric)
	d.flag(g.duplex)
	if g.grid != nil {
		d.numbers(g.grid.Dims)
		d.flag(g.grid.Wrap)
	}
	d.number(uint64(len(g.devices)))
	for i := range g.devices {
		dev := &g.devices[i]
		d.text(dev.Name)
		d.text(dev.GUID)
		d.text(dev.Label)
		d.number(uint64(dev.Kind))
		d.number(uint64(dev.Level))
		d.number(uint64(dev.Group))
		d.numbers(dev.Coord)
	}
	for id := range g.from {
		d.number(uint64(g.from[id])<<32 | uint64(g.to[id]))
		d.text(g.portName[g.fromPort[id]])
		d.text(g.portName[g.toPort[id]])
		d.number(math.Float64bits(g.capacity[id]))
		d.number(uint64(g.class[id]))
		d.number(uint64(g.dim[id]))
		d.flag(g.up[id])
	}
	return d.Sum64()
}

// digest hashes sequences of values unambiguously.
type digest struct{ hash.Hash64 }

func (d digest) number(v uint64) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], v)
	d.Write(buf[:])
}

func (d digest) flag(v bool) {
	if v {
		d.number(1)
	} else {
		d.number(0)
	}
}

func (d digest) numbers(list []int) {
	d.number(uint64(len(list)))
	for _, v := range list {
		d.number(uint64(v))
	}
}

func (d digest) text(s string) {
	d.number(uint64(len(s)))
	io.WriteString(d, s)
}
