// Package spines is the last step of the tree method (package trees): on two levels, or in a pod, it divides the links among
// the regions found, leaf by leaf, since the uplinks of a leaf wait for the same trees.
//
//	spines.go            the leaves into which the links down wait, spine by spine
//	spinefits.go         which of these, two at most, explain the uplinks of a leaf
//	spinefalls.go        by how much each tree falls to the uplinks of all leaves
//	pods.go              the same in each pod of a fabric of more levels
//	podends.go           where regions end there: at leaves, and above the pod
//	division.go          the links of the regions, divided accordingly
package spines
