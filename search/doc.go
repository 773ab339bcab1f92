// Package search finds the workloads that break an RDMA subsystem, and which of
// their features are necessary (Collie, NSDI'22). In goes what an engine says of
// itself and what it measured, out come the next workload to measure and the
// anomalies found, each with its minimal feature set (MFS). It has no clock, no
// I/O and no goroutine: all randomness comes from a seed, so a search that is fed
// the same measurements again asks the same questions.
package search
