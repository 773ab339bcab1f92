// Package schema is the vocabulary that all stages of Giverny share: rows
// (counter batches, snapshots, regions, events) and their Arrow schemas, the
// table of counters that real devices report, the metrics derived from them,
// and the severity levels.
//
// It contains only values and tables. It does no I/O, knows no fabric and
// imports nothing of the project.
package schema
