// Package store keeps results in ClickHouse. It stores each interval's snapshot,
// regions, events and counts exactly once, and the learned state of the analysis in
// a format that the analysis defines. It uses clickhouse-go against a server, a
// cluster or the embedded engine alike; the tables are in sql/. On a cluster they
// are replicated and distributed (cluster.go). Package store/read reads what is
// stored.
//
// It does not analyse, does not decide what to keep, and starts no engine.
package store
