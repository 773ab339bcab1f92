// Package bench makes snapshots whose congestion regions are known, and scores
// what a segmenter makes of them by the rule of Monet's Appendix D. A seed goes
// in, a snapshot and its truth come out; scores are numbers. It is for
// measuring: nothing in the pipeline uses it.
package bench
