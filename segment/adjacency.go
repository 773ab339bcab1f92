package segment

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// noSwitch stands for an end of a link that is a host.
const noSwitch = int32(-1)

// adjacency is the graph as segmentation sees it: links that share a switch are
// neighbours. Switches are numbered densely, hosts are left out, because they
// do not forward.
type adjacency struct {
	ends [][2]int32 // by link: its switches; a link between a switch and itself or a host has noSwitch second
	off  []int32    // CSR: links of switch s are at[off[s]:off[s+1]], ascending
	at   []int32
}

func newAdjacency(g *topology.Graph) *adjacency {
	number := make([]int32, g.NumDevices())
	switches := int32(0)
	for d := range number {
		number[d] = noSwitch
		if g.IsSwitch(topology.DeviceID(d)) {
			number[d] = switches
			switches++
		}
	}
	a := &adjacency{ends: make([][2]int32, g.NumLinks()), off: make([]int32, 1, switches+1)}
	for id := range a.ends {
		from, to := g.Ends(schema.LinkID(id))
		e := [2]int32{number[from], number[to]}
		if e[0] == noSwitch || e[0] == e[1] {
			e = [2]int32{e[1], noSwitch}
		}
		a.ends[id] = e
	}
	for d := range number {
		if number[d] == noSwitch {
			continue
		}
		for _, l := range g.LinksAt(topology.DeviceID(d)) {
			a.at = append(a.at, int32(l))
		}
		a.off = append(a.off, int32(len(a.at)))
	}
	return a
}

func (a *adjacency) numLinks() int    { return len(a.ends) }
func (a *adjacency) numSwitches() int { return len(a.off) - 1 }

// links lists the links of a switch, ascending.
func (a *adjacency) links(s int32) []int32 { return a.at[a.off[s]:a.off[s+1]] }

// far is the switch at the other end of a link of switch s, or noSwitch.
func (a *adjacency) far(link, s int32) int32 {
	e := a.ends[link]
	if e[0] == s {
		return e[1]
	}
	return e[0]
}
