package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/index"
)

// beside counts the links of a cause that touch another: one out of the switch that the link enters, or into the switch that
// it leaves.
type beside struct {
	leaving, into causesAt
	main          index.By[index.Node, causeID]    // its main cause, counted from 1; 0: none
	members       index.Lists[causeID, index.Node] // by that: nodes
	causes        []causeID                        // beside the last cause, ascending
	links         index.By[causeID, int]           // links of the last cause that touch it
	met           index.By[causeID, index.Node]    // the last node that touches it
}

// find prepares for the shares found last.
func (b *beside) find(t *trees, h *shares) {
	n := len(h.fall)
	b.leaving.find(h, &t.Leaving, n)
	b.into.find(h, &t.Into, n)
	b.main = scratch.Slice(b.main, len(t.Links))
	for i := range b.main.Len() {
		b.main[i] = h.main(i) + 1
	}
	b.members.List(b.main, n+1)
	b.causes, b.links, b.met = b.causes[:0], scratch.Zeroed(b.links, n), scratch.Filled(b.met, n, -1)
}

// of lists the causes that links of a cause touch, ascending, and counts these links.
func (b *beside) of(t *trees, cause causeID) []causeID {
	for _, other := range b.causes {
		b.links[other] = 0
	}
	b.causes = b.causes[:0]
	for _, i := range b.members.Of(cause + 1) {
		for _, causes := range [2][]causeID{b.leaving.Of(t.To[i]), b.into.Of(t.From[i])} {
			for _, other := range causes {
				if other == cause || b.met[other] == i {
					continue
				}
				if b.met[other] = i; b.links[other] == 0 {
					b.causes = append(b.causes, other)
				}
				b.links[other]++
			}
		}
	}
	slices.Sort(b.causes)
	return b.causes
}

// causesAt lists, by device, the main causes of its nodes, each once.
type causesAt struct {
	index.Lists[index.Device, causeID]
	met index.By[causeID, index.Device] // the last device with it
}

// find lists those of the given nodes; causes is the number of all causes.
func (a *causesAt) find(h *shares, nodes *index.Lists[index.Device, index.Node], causes int) {
	devices := nodes.Keys()
	a.Off, a.At, a.met = scratch.Slice(a.Off, int(devices)+1), a.At[:0], scratch.Filled(a.met, causes, -1)
	for d := range devices {
		a.Off[d] = int32(len(a.At))
		for _, i := range nodes.Of(d) {
			if cause := h.main(i); cause >= 0 && a.met[cause] != d {
				a.met[cause], a.At = d, append(a.At, cause)
			}
		}
	}
	a.Off[devices] = int32(len(a.At))
}
