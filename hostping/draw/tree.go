// Package draw draws a host's graph as text and as SVG, with the links of verdicts marked, and writes reports as text. The
// input is a graph with marked links or a report, the output is text.
package draw

import (
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// vertex is a vertex with the link above it.
type vertex struct {
	name     string // the devices' names joined, or the switch's
	link     hostping.Link
	children []*vertex
	width    int // number of leaves below, at least 1
	depth    int // distance from the socket
}

// host is a graph as trees.
type host struct {
	sockets []*vertex
	memory  map[string][]*vertex // by socket
	buses   []hostping.Link
}

// trees builds trees of the links: each one is below the link that leads to its upper end.
func trees(g *hostping.Graph) *host {
	h := &host{memory: map[string][]*vertex{}}
	socket := func(name string) {
		if !slices.ContainsFunc(h.sockets, func(s *vertex) bool { return s.name == name }) {
			h.sockets = append(h.sockets, &vertex{name: name})
		}
	}
	below := map[string][]*vertex{}
	for _, l := range g.Links {
		switch l.Kind {
		case hostping.InterSocket:
			socket(l.A)
			socket(l.B)
			h.buses = append(h.buses, l)
		case hostping.Memory:
			socket(l.A)
			h.memory[l.A] = append(h.memory[l.A], &vertex{name: l.B, link: l, width: 1})
		default:
			if l.Kind == hostping.RootPort {
				socket(l.A)
			}
			below[l.A] = append(below[l.A], &vertex{name: devices(g, l), link: l})
		}
	}
	slices.SortFunc(h.sockets, func(a, b *vertex) int { return strings.Compare(a.name, b.name) })
	for _, s := range h.sockets {
		grow(s, s.name, below, 0)
	}
	return h
}

// grow attaches the children of a vertex; name is the vertex' name in links.
func grow(v *vertex, name string, below map[string][]*vertex, depth int) {
	v.depth = depth
	v.children = below[name]
	for _, c := range v.children {
		grow(c, c.link.B, below, depth+1)
		v.width += c.width
	}
	v.width = max(1, v.width)
}

// devices returns the names at the lower end of a link: all functions of a card.
func devices(g *hostping.Graph, l hostping.Link) string {
	names := []string{l.B}
	for _, p := range g.Paths {
		if p.Links[0] == l.ID && !slices.Contains(names, p.RNIC) {
			names = append(names, p.RNIC)
		}
		if p.Links[len(p.Links)-1] == l.ID && !slices.Contains(names, p.Endpoint) {
			names = append(names, p.Endpoint)
		}
	}
	return strings.Join(names, " ")
}

// Text draws a graph as an indented tree, with a line per link and its id, and the affinitive endpoints.
func Text(g *hostping.Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model: %s\n", g.Model)
	h := trees(g)
	for _, s := range h.sockets {
		fmt.Fprintf(&b, "%s\n", s.name)
		for _, m := range h.memory[s.name] {
			fmt.Fprintf(&b, "  %-28s %-12s %s\n", m.name, m.link.Kind, m.link.ID)
		}
		for _, c := range s.children {
			writeTree(&b, c, "  ")
		}
	}
	for _, l := range h.buses {
		fmt.Fprintf(&b, "%-30s %-12s %s\n", l.A+" to "+l.B, l.Kind, l.ID)
	}
	for _, r := range g.RNICs {
		fmt.Fprintf(&b, "affinitive to %s: %s\n", r.ID, strings.Join(g.Affinitive[r.ID], " "))
	}
	for _, a := range g.Assumed {
		fmt.Fprintf(&b, "assumed: %s\n", a)
	}
	return b.String()
}

func writeTree(b *strings.Builder, v *vertex, indent string) {
	fmt.Fprintf(b, "%s%-*s %-12s %s\n", indent, max(1, 30-len(indent)), v.name, v.link.Kind, v.link.ID)
	for _, c := range v.children {
		writeTree(b, c, indent+"  ")
	}
}
