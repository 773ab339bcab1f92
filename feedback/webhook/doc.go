// Package webhook sends notices about regions to web servers: signed, in order, at least
// once, each with an idempotency key for deduplication by the receiver. Input: the
// results of fabrics. Output: HTTP requests; undelivered notices wait in a bounded queue
// on disk, and drops are counted by reason. Package notice decides what is reported.
package webhook
