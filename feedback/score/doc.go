// Package score says how much a job that is placed on a host would suffer from
// congestion in the next intervals. In go a graph and the result of an interval
// (regions, their forecasts, diagnoses), out comes a number of 0 to 100 for each
// host that is near congestion, with the reason in words. It acts on nothing and
// knows no scheduler; what it assumes is in docs/explanation/node-scores.md.
package score
