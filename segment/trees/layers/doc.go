// Package layers finds the exchanges of a two-level fabric that use all spines, and subtracts them from the readings, so that
// trees (package trees) are searched in the rest.
//
//	layers.go            the layers (exchanges), and what a link carries beyond them
//	layerleaves.go       the levels of one leaf
//	layersets.go         leaves of the same levels are a layer
//	layermembers.go      which other leaves take part; which layers are none
package layers
