package hostping

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// cpuset is a set of processors, 32 per word, lowest first.
type cpuset []uint32

// maxCPUWords bounds a set: 65,536 processors.
const maxCPUWords = 2048

// parseCPUs parses hwloc's format: hexadecimal words, highest first; empty words are zero. Malformed text gives the
// empty set.
func parseCPUs(text string) cpuset {
	words := strings.Split(text, ",")
	if text == "" || len(words) > maxCPUWords {
		return nil
	}
	set := make(cpuset, len(words))
	for i, word := range words {
		if word = strings.TrimPrefix(word, "0x"); word == "" {
			continue
		}
		v, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return nil
		}
		set[len(words)-1-i] = uint32(v)
	}
	return set
}

func (s cpuset) overlaps(other cpuset) bool {
	for i := range min(len(s), len(other)) {
		if bits.OnesCount32(s[i]&other[i]) > 0 {
			return true
		}
	}
	return false
}

// sets is a union-find over numbers.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) find(i int) int {
	for s[i] != i {
		i = s[i]
	}
	return i
}

func (s sets) join(i, j int) { s[s.find(j)] = s.find(i) }

// move moves a node's devices, with their naming, to another node.
func (n *namer) move(from, to *pciNode) {
	for i := range n.found {
		if n.found[i].at == from {
			n.found[i].at, n.found[i].index = to, len(to.devices)+n.found[i].index
		}
	}
	to.devices = slices.Concat(to.devices, from.devices)
	from.devices = nil
}
