// Package segment finds the congestion regions of a fabric: a snapshot of one
// interval and the fabric's graph go in, sets of links that are near each other
// and stalled alike come out, each with its severity. A Memory keeps those of the
// interval before that still stand (hysteresis); package tracking below it
// follows them through time.
//
// Three methods stand behind one Segmenter, each in a package of its own: monet,
// the paper's as written; merging, for links that stand for both directions; and
// trees, for links that have one. The last two are "statistical": which of them is
// used follows from the graph. Values in, values out: no goroutine, clock, logger or
// random source, and no file is opened.
package segment
