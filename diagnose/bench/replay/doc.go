// Package replay generates incidents with known causes on fabrics with credit flow control (simulate/credits), plays them to
// a judge, and derives the truth by replay: the fabric is simulated again without each job, fault or slow host, and what
// takes away most of a region's waiting is its cause. It is the second world of the diagnosis benchmark: it shares the
// scores, the segmentation and the routes with the first, but no traffic model, no incident, no truth and no telemetry. A
// set, a kind and a seed make an Incident, deterministically.
//
// A minute consists of two halves, each simulated in a few hundred steps. The network continues from one half to the next
// while loads and faults stay the same; when they change it begins at rest, and is warmed up. Replays cover
// each combination of loads and faults once.
package replay
