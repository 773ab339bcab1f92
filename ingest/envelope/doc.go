// Package envelope makes the payloads that travel through Kafka and takes them apart: rows of the shared
// vocabulary go in, one checked and bounded byte string comes out, and back. A payload is a 24-byte header
// with a checksum, then one golang/snappy block over one Arrow IPC stream.
//
// A payload may come from anybody who can write to a topic, so Decoder validates everything: header, checksum
// and lengths are checked before snappy runs, every count in the stream's metadata before Arrow sees it,
// and every column, dictionary index and name before the caller sees it. What fails says so in an *Error
// whose Reason serves as a metric label.
//
// The package does no I/O, keeps no global state and starts nothing.
package envelope
