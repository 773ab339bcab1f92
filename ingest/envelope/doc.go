// Package envelope encodes and decodes the payloads that travel through Kafka: rows of the shared vocabulary
// to one checked byte string of bounded size, and back. A payload is a 24-byte header with a checksum, then
// one golang/snappy block of one Arrow IPC stream.
//
// Anyone who can write to a topic can send a payload, so Decoder validates everything: header, checksum and
// lengths before snappy runs, every count in the stream's metadata before Arrow sees it, and every column,
// dictionary index and name before the caller sees it. A failure returns an *Error whose Reason serves as a
// metric label.
//
// The package does no I/O, has no global state and starts nothing.
package envelope
