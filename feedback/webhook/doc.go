// Package webhook sends notices about regions to web servers: signed, in order, at
// least once, each with a key by which a receiver can drop doubles. In go the results
// of fabrics, out go HTTP requests; what has not been taken waits on disk, bounded,
// and what is dropped is counted with the reason. What is said is package notice's.
package webhook
