package topology

import (
	"slices"
	"sort"

	"github.com/giverny/giverny/schema"
)

// DeviceID numbers the devices of one version of a graph densely from zero.
type DeviceID uint32

// DeviceKind is the role of a device: switches forward traffic, hosts send and receive
// it.
type DeviceKind uint8

// Kinds of devices.
const (
	Switch DeviceKind = iota
	Host
)

func (k DeviceKind) String() string { return [...]string{"switch", "host"}[k] }

// Device is a switch or a host adapter.
type Device struct {
	Name  string // unique in the fabric
	Kind  DeviceKind
	GUID  string // node GUID in hexadecimal, or empty
	Label string // display name; Name if empty
	Level int8   // 0 host, 1 leaf, 2 spine or aggregation, 3 core; -1 unknown
	Group int32  // pod, dragonfly group; -1: none
	Coord []int  // position on a torus or mesh, or nil
}

// LinkClass groups links with the same capacity and role.
type LinkClass uint8

// Classes of links.
const (
	ClassHost   LinkClass = iota // host to switch or switch to host
	ClassSwitch                  // switch to switch
	ClassLocal                   // within a dragonfly group
	ClassGlobal                  // between dragonfly groups
	ClassTorus                   // along a dimension of a torus or mesh
)

var classNames = [...]string{"host", "switch", "local", "global", "torus"}

func (c LinkClass) String() string { return classNames[c] }

// Link is one edge of the graph, from the sending to the receiving port. On a duplex
// graph it represents both directions.
type Link struct {
	From, To               DeviceID
	FromPort, ToPort       string
	CapacityBytesPerSecond float64
	Class                  LinkClass
	Dim                    int8 // dimension of a torus or mesh; -1 elsewhere
	Up                     bool // false: known from an earlier version, absent now
}

// PortLinks are the two links of a port. On a duplex graph they are the same.
type PortLinks struct {
	Egress, Ingress schema.LinkID // schema.NoLink if there is none
}

// Graph is one version of a fabric. It is immutable and safe for concurrent use.
type Graph struct {
	fabric  string
	source  string // name in the source; empty: it has none
	version uint64
	duplex  bool
	grid    *Grid

	devices  []Device
	isSwitch []bool // by device: kept apart, as the kind is asked for far more often than the rest
	byName   map[string]DeviceID
	byGUID   map[string]DeviceID
	portName []string // dictionary of port names

	switchesIn map[int32]int // number of switches, by group
	hasRails   bool          // a host has several adapters

	from, to         []DeviceID
	fromPort, toPort []uint32 // into portName
	capacity         []float64
	class            []LinkClass
	dim              []int8
	up               []bool

	linksOff []uint32 // CSR: links that touch device d, ascending
	linksAt  []schema.LinkID
	portsOff []uint32 // CSR: ports of device d, ordered by name
	ports    []portRow
}

type portRow struct {
	name  uint32
	links PortLinks
}

// Fabric is the name of the fabric (plane or rail).
func (g *Graph) Fabric() string { return g.fabric }

// SourceName is the name that the source gives the fabric, if it gives one, even where another name overrides it.
func (g *Graph) SourceName() string { return g.source }

// Version identifies the graph's content: it is a hash of everything in the graph,
// including numbers, and of nothing else. The same fabric read again has the same
// version.
func (g *Graph) Version() uint64 { return g.version }

// Duplex reports whether each link represents both directions, so that the readings of
// its two ends are merged (Gemini's aggregated links).
func (g *Graph) Duplex() bool { return g.duplex }

// Grid is the coordinate system of a torus or mesh, or nil.
func (g *Graph) Grid() *Grid { return g.grid }

// NumLinks is the number of links; LinkIDs are 0..NumLinks-1.
func (g *Graph) NumLinks() int { return len(g.from) }

// NumDevices is the number of devices; DeviceIDs are 0..NumDevices-1.
func (g *Graph) NumDevices() int { return len(g.devices) }

// NumPorts is the number of ports that have a link.
func (g *Graph) NumPorts() int { return len(g.ports) }

// Link returns the link with the given number.
func (g *Graph) Link(id schema.LinkID) Link {
	return Link{From: g.from[id], To: g.to[id], FromPort: g.portName[g.fromPort[id]], ToPort: g.portName[g.toPort[id]],
		CapacityBytesPerSecond: g.capacity[id], Class: g.class[id], Dim: g.dim[id], Up: g.up[id]}
}

// Capacity is the link's capacity in bytes per second; 0 if unknown.
func (g *Graph) Capacity(id schema.LinkID) float64 { return g.capacity[id] }

// Ends returns the devices that a link leaves and enters.
func (g *Graph) Ends(id schema.LinkID) (from, to DeviceID) { return g.from[id], g.to[id] }

// OtherEnd is the device at the end of a link that is not d, which is at one of its ends.
func (g *Graph) OtherEnd(id schema.LinkID, d DeviceID) DeviceID {
	if g.from[id] == d {
		return g.to[id]
	}
	return g.from[id]
}

// BetweenSwitches reports whether a link joins two switches.
func (g *Graph) BetweenSwitches(id schema.LinkID) bool {
	return g.isSwitch[g.from[id]] && g.isSwitch[g.to[id]]
}

// Adjacent reports whether a link joins two devices, in either direction.
func (g *Graph) Adjacent(a, b DeviceID) bool {
	return slices.ContainsFunc(g.LinksAt(a), func(l schema.LinkID) bool { return g.from[l] == b || g.to[l] == b })
}

// Device returns the device with the given number.
func (g *Graph) Device(id DeviceID) *Device { return &g.devices[id] }

// IsSwitch reports whether the device forwards traffic.
func (g *Graph) IsSwitch(id DeviceID) bool { return g.isSwitch[id] }

// FindDevice finds a device by name, or by GUID.
func (g *Graph) FindDevice(name string) (DeviceID, bool) {
	if id, ok := g.byName[name]; ok {
		return id, true
	}
	id, ok := g.byGUID[name]
	return id, ok
}

// LinksAt lists the links that leave or enter a device, ascending. The slice must not
// be modified.
func (g *Graph) LinksAt(d DeviceID) []schema.LinkID { return g.linksAt[g.linksOff[d]:g.linksOff[d+1]] }

// PortAt finds the links of a device's port.
func (g *Graph) PortAt(d DeviceID, port string) (PortLinks, bool) {
	rows := g.ports[g.portsOff[d]:g.portsOff[d+1]]
	i := sort.Search(len(rows), func(i int) bool { return g.portName[rows[i].name] >= port })
	if i == len(rows) || g.portName[rows[i].name] != port {
		return PortLinks{schema.NoLink, schema.NoLink}, false
	}
	return rows[i].links, true
}

// FindPort finds the links of a port by the names of device and port.
func (g *Graph) FindPort(device, port string) (PortLinks, bool) {
	d, ok := g.FindDevice(device)
	if !ok {
		return PortLinks{schema.NoLink, schema.NoLink}, false
	}
	return g.PortAt(d, port)
}

// PortKey is the persistent name of the port that a link leaves.
func (g *Graph) PortKey(id schema.LinkID) schema.PortKey {
	return schema.PortKey{Fabric: g.fabric, Device: g.devices[g.from[id]].Name, Port: g.portName[g.fromPort[id]]}
}

// Hosts lists the hosts in order of number, without aggregation nodes; on a fabric without hosts (a torus of switches
// with built-in NICs) it lists the switches.
func (g *Graph) Hosts() []DeviceID {
	var hosts, all []DeviceID
	for d := range g.devices {
		all = append(all, DeviceID(d))
		if g.devices[d].Kind == Host && !g.devices[d].IsAggregationNode() {
			hosts = append(hosts, DeviceID(d))
		}
	}
	if hosts == nil {
		return all
	}
	return hosts
}

// AppendNeighbours appends to buf the links that share a switch with id
// (Monet, section 4.2: "the switch is an edge"), without id itself. A link that
// shares both switches appears twice.
func (g *Graph) AppendNeighbours(buf []schema.LinkID, id schema.LinkID) []schema.LinkID {
	for _, d := range [2]DeviceID{g.from[id], g.to[id]} {
		if !g.IsSwitch(d) {
			continue
		}
		for _, l := range g.LinksAt(d) {
			if l != id {
				buf = append(buf, l)
			}
		}
	}
	return buf
}
