// Package search finds the workloads that break an RDMA subsystem, and which of their
// features are necessary (Collie, NSDI'22). The input is an engine's description and
// measurements; the output is the next workload to measure and the anomalies found,
// each with its minimal feature set (MFS). The package has no clock, I/O or goroutine,
// and all randomness comes from a seed, so the same measurements lead to the same
// search.
package search
