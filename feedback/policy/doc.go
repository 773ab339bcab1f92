// Package policy decides which nodes a scheduler should avoid. Input: node scores over
// time, the marked nodes and the time. Output: the nodes to mark and to relieve, and
// the refusals with their reasons. Decisions use hysteresis with a dwell time: a node
// is marked after a while above one threshold and relieved after a while below a lower
// one. An allow list, a maximum of marked nodes and a limit of changes per minute
// apply. It changes nothing itself.
package policy
