// Package linkset has the data structures shared by the segmentation methods: link adjacency, disjoint sets, lists of
// groups, histogram quantiles, and the representation of missing values. It makes no decisions about regions.
package linkset

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// NoSwitch marks a link end that is a host.
const NoSwitch = int32(-1)

// Adjacency is the link graph for segmentation: links that share a switch are
// neighbours. Switches are numbered densely; hosts are omitted because they do not
// forward.
type Adjacency struct {
	Ends [][2]int32 // by link: its switches; for a link to a host, or from a switch to itself, the second is NoSwitch
	off  []int32    // CSR: links of switch s are at[off[s]:off[s+1]], ascending
	at   []int32
}

// NewAdjacency returns the adjacency of one version of a fabric.
func NewAdjacency(g *topology.Graph) *Adjacency {
	number := make([]int32, g.NumDevices())
	switches := int32(0)
	for d := range number {
		number[d] = NoSwitch
		if g.IsSwitch(topology.DeviceID(d)) {
			number[d] = switches
			switches++
		}
	}
	a := &Adjacency{Ends: make([][2]int32, g.NumLinks()), off: make([]int32, 1, switches+1)}
	for id := range a.Ends {
		from, to := g.Ends(schema.LinkID(id))
		e := [2]int32{number[from], number[to]}
		if e[0] == NoSwitch || e[0] == e[1] {
			e = [2]int32{e[1], NoSwitch}
		}
		a.Ends[id] = e
	}
	for d := range number {
		if number[d] == NoSwitch {
			continue
		}
		for _, l := range g.LinksAt(topology.DeviceID(d)) {
			a.at = append(a.at, int32(l))
		}
		a.off = append(a.off, int32(len(a.at)))
	}
	return a
}

// NumLinks and NumSwitches are the numbers of links and switches.
func (a *Adjacency) NumLinks() int    { return len(a.Ends) }
func (a *Adjacency) NumSwitches() int { return len(a.off) - 1 }

// Links lists the links of a switch, ascending.
func (a *Adjacency) Links(s int32) []int32 { return a.at[a.off[s]:a.off[s+1]] }

// Far is the switch at the other end of a link of switch s, or NoSwitch.
func (a *Adjacency) Far(link, s int32) int32 {
	e := a.Ends[link]
	if e[0] == s {
		return e[1]
	}
	return e[0]
}
