// Package segment finds the congestion regions of a fabric: a snapshot of one
// interval and the fabric's graph go in, sets of links that are near each other
// and stalled alike come out, each with its severity. A Memory keeps those of the
// interval before that still stand (hysteresis); package tracking below it
// follows them through time.
//
// Two methods stand behind one Segmenter: "paper", the four stages of Monet
// (NSDI'20, section 4.2) as written, and "statistical", region merging on a region
// adjacency graph under a noise model of the data. Both are values in, values out: no
// goroutine, clock, logger or random source, and no file is opened.
package segment
