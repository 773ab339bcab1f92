// Package bench generates snapshots with known congestion regions, and scores the
// regions that a segmenter finds by the rule of Monet's Appendix D. Input: a seed.
// Output: a snapshot and its ground truth, and scores. It is for evaluation only.
package bench
