// Package store keeps results in ClickHouse: an interval's snapshot, regions,
// events and counts go in, exactly once, and come out again as snapshots,
// histories and the characterisation of Monet (NSDI 2020); so does what the
// analysis has learned, in a form that is its own. It speaks through
// clickhouse-go to a server, a cluster or the embedded engine alike; the tables
// are in sql/, the queries in sql/query/. On a cluster the tables are replicated
// and distributed (cluster.go).
//
// It does not analyse, does not decide what to keep, and starts no engine.
package store
