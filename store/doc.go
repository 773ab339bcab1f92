// Package store keeps results in ClickHouse: an interval's snapshot, regions,
// events and counts go in, exactly once; so does what the analysis has learned, in
// a form that is its own. It speaks through clickhouse-go to a server, a cluster or
// the embedded engine alike; the tables are in sql/. On a cluster they are
// replicated and distributed (cluster.go). What it keeps is read through store/read.
//
// It does not analyse, does not decide what to keep, and starts no engine.
package store
