// Package index has the indices of the tree method, a type for each kind, and the slices and lists that they index, so that
// the compiler tells a link from a device. TestIndicesAreOfTheirKind checks what the compiler does not.
package index
