package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

// linkEnds identify a link in one graph.
type linkEnds struct {
	from, to         DeviceID
	fromPort, toPort uint32
}

func (e linkEnds) reversed() linkEnds { return linkEnds{e.to, e.from, e.toPort, e.fromPort} }

// Moved maps the links of one version of a graph to another: element i is the number in
// now of link i of was, or schema.NoLink if now does not have it. A link is identified
// by its ports (device and port names, PortKey), never by its number: a link from the
// same port to another peer is another link. On duplex graphs the two ends are
// interchangeable; a duplex and a directed graph share no links. A link that is down is
// known, so it has a number.
func Moved(was, now *Graph) []schema.LinkID {
	moved := make([]schema.LinkID, was.NumLinks())
	links := now.byEnds()
	rename := newRenaming(was, now)
	for i := range moved {
		moved[i] = schema.NoLink
		ends, known := rename.ends(was, schema.LinkID(i))
		if !known || was.duplex != now.duplex {
			continue
		}
		if id, ok := links[ends]; ok {
			moved[i] = id
		} else if id, ok := links[ends.reversed()]; ok && now.duplex {
			moved[i] = id
		}
	}
	return moved
}

// Renumber translates links in place to the new numbers from Moved, ascending, and drops those that are gone.
func Renumber(links, moved []schema.LinkID) []schema.LinkID {
	kept := links[:0]
	for _, l := range links {
		if now := moved[l]; now != schema.NoLink {
			kept = append(kept, now)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

func (g *Graph) byEnds() map[linkEnds]schema.LinkID {
	links := make(map[linkEnds]schema.LinkID, len(g.from))
	for i := range g.from {
		links[linkEnds{g.from[i], g.to[i], g.fromPort[i], g.toPort[i]}] = schema.LinkID(i)
	}
	return links
}

// renaming translates device and port name numbers of one graph to those of another.
type renaming struct {
	devices map[DeviceID]DeviceID
	ports   map[uint32]uint32
}

func newRenaming(from, to *Graph) renaming {
	r := renaming{devices: make(map[DeviceID]DeviceID, len(from.devices)), ports: make(map[uint32]uint32, len(from.portName))}
	for d := range from.devices {
		if id, ok := to.byName[from.devices[d].Name]; ok {
			r.devices[DeviceID(d)] = id
		}
	}
	known := make(map[string]uint32, len(to.portName))
	for id, name := range to.portName {
		known[name] = uint32(id)
	}
	for p, name := range from.portName {
		if id, ok := known[name]; ok {
			r.ports[uint32(p)] = id
		}
	}
	return r
}

func (r renaming) ends(g *Graph, id schema.LinkID) (e linkEnds, ok bool) {
	var known [4]bool
	e.from, known[0] = r.devices[g.from[id]]
	e.to, known[1] = r.devices[g.to[id]]
	e.fromPort, known[2] = r.ports[g.fromPort[id]]
	e.toPort, known[3] = r.ports[g.toPort[id]]
	return e, known == [4]bool{true, true, true, true}
}

// Difference is what changed between two versions of a graph. Links are identified as
// by Moved.
type Difference struct {
	Was, Now       uint64   // versions
	DevicesAdded   []string // names, in order of number
	DevicesRemoved []string
	DevicesChanged []string // same name, but another kind, GUID, label, level, group or position

	LinksAdded   []schema.LinkID // numbers of Now, ascending
	LinksRemoved []schema.LinkID // numbers of Was, ascending
	WentDown     []schema.LinkID // numbers of Now, ascending
	CameUp       []schema.LinkID // numbers of Now, ascending
	Rerated      []schema.LinkID // numbers of Now, ascending: changed capacity
	Recabled     []Recabled      // among the added and removed
	Renumbered   int             // number of links with a new number
}

// Recabled is a port with a new peer.
type Recabled struct {
	Was, Now schema.LinkID // the link that the port sent into, and the one it sends into now
}

// Diff compares two versions of a graph.
func Diff(was, now *Graph) Difference {
	d := Difference{Was: was.version, Now: now.version,
		DevicesAdded: devicesOnlyIn(now, was), DevicesRemoved: devicesOnlyIn(was, now), DevicesChanged: devicesChanged(was, now)}
	kept := make([]bool, now.NumLinks())
	moved := Moved(was, now)
	for i, id := range moved {
		if id == schema.NoLink {
			d.LinksRemoved = append(d.LinksRemoved, schema.LinkID(i))
			continue
		}
		kept[id] = true
		if id != schema.LinkID(i) {
			d.Renumbered++
		}
	}
	before := Moved(now, was)
	for i := range kept {
		id := schema.LinkID(i)
		if !kept[i] {
			d.LinksAdded = append(d.LinksAdded, id)
			if before := was.egress(now.PortKey(id)); before != schema.NoLink && moved[before] == schema.NoLink {
				d.Recabled = append(d.Recabled, Recabled{before, id})
			}
			continue
		}
		if was.capacity[before[i]] != now.capacity[i] {
			d.Rerated = append(d.Rerated, id)
		}
		switch {
		case was.up[before[i]] && !now.up[i]:
			d.WentDown = append(d.WentDown, id)
		case !was.up[before[i]] && now.up[i]:
			d.CameUp = append(d.CameUp, id)
		}
	}
	return d
}

// egress returns the link that the named port sends into.
func (g *Graph) egress(key schema.PortKey) schema.LinkID {
	d, ok := g.byName[key.Device]
	if !ok {
		return schema.NoLink
	}
	port, _ := g.PortAt(d, key.Port)
	return port.Egress
}

func devicesOnlyIn(g, other *Graph) (names []string) {
	for i := range g.devices {
		if _, ok := other.byName[g.devices[i].Name]; !ok {
			names = append(names, g.devices[i].Name)
		}
	}
	return names
}

func devicesChanged(was, now *Graph) (names []string) {
	for i := range now.devices {
		d := now.devices[i]
		id, ok := was.byName[d.Name]
		if !ok {
			continue
		}
		before := was.devices[id]
		if d.Kind != before.Kind || d.GUID != before.GUID || d.Label != before.Label || d.Level != before.Level ||
			d.Group != before.Group || !slices.Equal(d.Coord, before.Coord) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Empty reports whether both versions are the same.
func (d *Difference) Empty() bool { return d.Was == d.Now }

// String counts the changes: "devices: 1 added; links: 1 removed, 2 recabled, 4 went down, 12 renumbered". A recabled link
// is not also counted as removed and added.
func (d *Difference) String() string {
	if d.Empty() {
		return "no change"
	}
	type count struct {
		n    int
		what string
	}
	said := func(of string, counts ...count) string {
		var parts []string
		for _, c := range counts {
			if c.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
			}
		}
		if parts == nil {
			return ""
		}
		return of + ": " + strings.Join(parts, ", ")
	}
	recabled := len(d.Recabled)
	parts := []string{
		said("devices", count{len(d.DevicesAdded), "added"}, count{len(d.DevicesRemoved), "removed"}, count{len(d.DevicesChanged), "changed"}),
		said("links", count{len(d.LinksAdded) - recabled, "added"}, count{len(d.LinksRemoved) - recabled, "removed"}, count{recabled, "recabled"},
			count{len(d.WentDown), "went down"}, count{len(d.CameUp), "came up"}, count{len(d.Rerated), "rerated"}, count{d.Renumbered, "renumbered"}),
	}
	text := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
	return cmp.Or(text, "only the description of the fabric or the order of devices")
}

// LinkName names a link by its ends: "leaf0 port 1 to host0 port 1".
func (g *Graph) LinkName(id schema.LinkID) string {
	l := g.Link(id)
	return strings.Join([]string{g.devices[l.From].Name, "port", l.FromPort, "to", g.devices[l.To].Name, "port", l.ToPort}, " ")
}
