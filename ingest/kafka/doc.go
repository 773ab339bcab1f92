// Package kafka carries payloads between the stages of Giverny: records go in at a Producer or, on a host
// that must outlive an outage, at a SpoolingProducer, and come out in order at a Consumer, at least once,
// none of them lost in silence. Package embedded is the same broker inside the process.
//
// Every fabric has a partition of its own, which the caller assigns: there are no consumer groups that could
// rebalance, only offsets kept under a group's name, committed once the results of a record are stored and
// only as far as nothing before them is missing. What cannot be read goes to the dead-letter topic.
//
// The package moves payloads and reads none; package envelope does that.
package kafka
