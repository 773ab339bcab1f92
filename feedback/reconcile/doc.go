// Package reconcile makes a scheduler avoid congested nodes and restores them afterwards. Input: node scores of all fabrics.
// Output: changes of the scheduler's nodes. Each change is written to an on-disk journal (a write-ahead log) first, so that it
// can be undone on relief, at shutdown, or at the next start after a crash. Package policy decides which nodes, when and how
// many; a Scheduler implements the protocol of the scheduler.
package reconcile
