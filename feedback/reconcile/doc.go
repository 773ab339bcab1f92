// Package reconcile makes a scheduler avoid congested nodes and puts everything back.
// In go the scores of the nodes of every fabric, out come changes of the scheduler's
// nodes, each written to a journal on disk before it is made, so that it is undone on
// relief, at the stop, and after a crash at the next start. Which nodes, when and how
// many is package policy's; how a scheduler is spoken to is that of the Scheduler.
package reconcile
