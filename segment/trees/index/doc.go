// Package index has the indices of the tree method, a type for each kind, and the slices and lists that they index, so that
// the compiler tells a link from a device. It takes any integer as the index of a slice, so TestIndicesAreOfTheirKind checks
// these.
package index
