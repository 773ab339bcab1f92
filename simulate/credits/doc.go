// Package credits moves cells through a lossless fabric step by step: every channel has a finite buffer at its receiving
// end, and a cell is sent only if there is room for it (credit-based, hop-by-hop flow control). The input is a graph's
// channels with their rates, and the work of jobs: exchanges that end when the slowest rank has everything, and streams
// of requests. The output is, for each channel, the share of steps in which cells waited for lack of credits and how
// many were sent; for each work, what arrived; and where each wait begins. There is no wall clock and no I/O; the same
// seed gives the same run.
//
// In a step a channel sends at most one cell, chosen in turn among the inputs (input buffers and the local host) that have
// one for it (round robin). A buffer is shared by all outputs of its switch (virtual output queues, no head-of-line
// blocking within a buffer, but cells of a blocked output fill it). Channels have lanes (virtual channels) where routes
// could wait for each other in a cycle. A credit returns in the step after the cell has left.
//
// There are no packets of different sizes, no adaptive routes, no end-to-end congestion control and no errors. A minute of
// a fabric is represented by a few hundred steps.
package credits
