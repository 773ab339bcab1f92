// Package kafka carries payloads between the stages of Giverny with at-least-once delivery: records are sent
// by a Producer or, on a host that must survive an outage, by a SpoolingProducer, and read in order by a
// Consumer. Losses are counted and logged. Package embedded is the same broker inside the process.
//
// Each fabric has its own partition, which the caller assigns, so there is no automatic assignment of
// partitions. Offsets are kept under a group's name and committed once the results of a record, and of all
// records before it, are stored. Unreadable records go to the dead-letter topic.
//
// The package does not interpret payloads; package envelope does.
package kafka
