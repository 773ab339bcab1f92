// Package bench makes incidents on simulated fabrics whose causes are known, plays them, and scores what a
// diagnoser says of their regions. A set and a seed go in, an Incident comes out; Play hands a judge every
// interval as the analysis would, and returns its verdicts beside the truth; scores are numbers. It is for
// measuring: nothing in the pipeline uses it.
//
// The truth comes from the simulator's flows: which resource is full or slow, whose flows are offered to
// it, which of them a failure has turned off their way. No table of jobs, traffic or failures, and no
// correlation, enters into it; those are what the judge sees, with noise and gaps.
package bench
