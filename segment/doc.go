// Package segment finds the congestion regions of a fabric. Input: a snapshot of one
// interval and the fabric's graph. Output: sets of adjacent, similarly stalled links,
// each with its severity. A Memory keeps regions of the previous interval that persist
// (hysteresis); package tracking follows regions through time.
//
// A Segmenter uses one of three methods, each in its own package: monet, the paper's as
// published; merging, for duplex links, which stand for both directions; and trees, for
// directed links. The last two are "statistical": the graph determines which one is
// used. The package is pure: it has no goroutine, clock, logger or random source, and
// opens no file.
package segment
