// Package policy decides which nodes a scheduler should be asked to avoid. In go
// scores of nodes over time, the nodes that are marked now and the time, out come
// the nodes to mark and to relieve, and what was refused, with the reason. A node is
// marked beyond one score for a while, and relieved below a lower one for a while
// (hysteresis with a dwell time); only nodes of the allow list, only so many at once,
// and only so many changes a minute. It changes nothing itself.
package policy
