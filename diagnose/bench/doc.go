// Package bench generates incidents with known causes on simulated fabrics, plays them, and scores the verdicts of a
// diagnoser on their regions. A set and a seed make an Incident; Play gives a judge every interval as the analysis
// would, and returns its verdicts beside the ground truth; scores are numbers. It is a benchmark: the pipeline does not
// use it.
//
// The ground truth comes from the simulator's flows: which resource is full or slow, whose flows are offered to it,
// which of them a failure has rerouted. It uses no traffic or failure table and no correlation, and of the job table
// only whether a job is in it. The tables are what the judge sees, with noise and gaps.
package bench
