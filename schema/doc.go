// Package schema is the vocabulary that every stage of Giverny shares: rows
// (counter batches, snapshots, regions, events), the Arrow schema of each, the
// table of counters that real devices report, the metrics made from them, and
// the severity levels.
//
// It holds values and tables only. It does no I/O, knows no fabric and imports
// nothing of the project.
package schema
