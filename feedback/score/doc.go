// Package score estimates how much a job placed on a host would suffer from congestion
// in the next intervals. Input: a graph and the result of an interval (regions with
// forecasts, diagnoses). Output: a score from 0 to 100 for each host near congestion,
// with the reason in words. It acts on nothing and knows no scheduler; its assumptions
// are in docs/explanation/node-scores.md.
package score
