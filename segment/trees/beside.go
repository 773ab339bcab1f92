package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// beside counts the links of a cause that touch another: one out of the switch that the link enters, or into the switch that
// it leaves.
type beside struct {
	leaving, into causesAt
	main          by[nodeID, causeID]    // its main cause, counted from 1; 0: none
	members       lists[causeID, nodeID] // by that: nodes
	causes        []causeID              // beside the last cause, ascending
	links         by[causeID, int]       // links of the last cause that touch it
	met           by[causeID, nodeID]    // the last node that touches it
}

// find prepares for the shares found last.
func (b *beside) find(t *trees, h *shares) {
	n := len(h.fall)
	b.leaving.find(h, &t.leaving, n)
	b.into.find(h, &t.into, n)
	b.main = scratch.Slice(b.main, len(t.links))
	for i := range b.main.len() {
		b.main[i] = h.main(i) + 1
	}
	b.members.list(b.main, n+1)
	b.causes, b.links, b.met = b.causes[:0], scratch.Zeroed(b.links, n), scratch.Filled(b.met, n, -1)
}

// of lists the causes that links of a cause touch, ascending, and counts these links.
func (b *beside) of(t *trees, cause causeID) []causeID {
	for _, other := range b.causes {
		b.links[other] = 0
	}
	b.causes = b.causes[:0]
	for _, i := range b.members.of(cause + 1) {
		for _, causes := range [2][]causeID{b.leaving.of(t.to[i]), b.into.of(t.from[i])} {
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
	lists[deviceID, causeID]
	met by[causeID, deviceID] // the last device with it
}

// find lists those of the given nodes; causes is the number of all causes.
func (a *causesAt) find(h *shares, nodes *lists[deviceID, nodeID], causes int) {
	devices := nodes.keys()
	a.off, a.at, a.met = scratch.Slice(a.off, int(devices)+1), a.at[:0], scratch.Filled(a.met, causes, -1)
	for d := range devices {
		a.off[d] = int32(len(a.at))
		for _, i := range nodes.of(d) {
			if cause := h.main(i); cause >= 0 && a.met[cause] != d {
				a.met[cause], a.at = d, append(a.at, cause)
			}
		}
	}
	a.off[devices] = int32(len(a.at))
}
