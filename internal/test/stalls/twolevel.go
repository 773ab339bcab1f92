package stalls

import "fmt"

// SixteenLeaves is a fabric of two levels.
const SixteenLeaves = "fattree:leaves=16,hosts=8,spines=8"

// AllWaysUp is an exchange among some leaves: hosts and all uplinks stall alike, and downlinks at a level of their
// own.
func AllWaysUp(percent, down float32, leaves ...int) ByEnds {
	s := ByEnds{}
	for _, leaf := range leaves {
		name := fmt.Sprint("leaf", leaf)
		for spine := range 8 {
			s[[2]string{name, fmt.Sprint("spine", spine)}] = percent
			s[[2]string{fmt.Sprint("spine", spine), name}] = down
		}
		for host := 8 * leaf; host < 8*leaf+8; host++ {
			s[[2]string{fmt.Sprint("host", host), name}] = percent
		}
	}
	return s
}

// TreeOverAll is a tree whose root is a leaf's port, with traffic over all spines from so many hosts of each leaf.
func TreeOverAll(root, host, hosts int, percent float32, leaves ...int) ByEnds {
	at := fmt.Sprint("leaf", root)
	s := ByEnds{{at, fmt.Sprint("host", host)}: percent}
	for spine := range 8 {
		over := fmt.Sprint("spine", spine)
		s[[2]string{over, at}] = .9 * percent
		for _, leaf := range leaves {
			s[[2]string{fmt.Sprint("leaf", leaf), over}] = .5 * percent
		}
	}
	for _, leaf := range leaves {
		for h := 8 * leaf; h < 8*leaf+hosts; h++ {
			s[[2]string{fmt.Sprint("host", h), fmt.Sprint("leaf", leaf)}] = .48 * percent
		}
	}
	return s
}
