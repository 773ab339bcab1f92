// Package tracking follows regions through time: the regions of successive
// intervals go in, and out come their identities, what happened to them (births,
// ends, merges, splits, changes of severity), the state of the network and the
// odds of what comes next. It finds no regions and explains none.
//
// # Identity
//
// A region of now and one of before, of the same metric, may be the same if they
// share more than MinOverlap of the smaller one's links (Monet's released code:
// half). Of these pairs, the most alike by Jaccard's index are matched first, the
// older of two equals before the younger, until no pair of free ones is left.
//
//   - Split: the largest part is the most alike and stays the region; each other
//     part is a new one that comes from it.
//   - Merge: the oldest goes on, of those that bring at least half as many links
//     as the one most alike; a speck does not rename the giant that swallows it.
//   - Gap: a region that is not seen, or has merged, for GapIntervals at most comes
//     back as itself.
//
// # Events
//
// An identity is reported with one event, born or split, and its end with one, ended or
// merged; one that was reported as merged and comes apart within the gap is split again.
// Events are debounced: each reports what has lasted DebounceIntervals, and carries the
// time at which it began. A region that does not last is followed, and no event reports it.
//
// Identities outlive the process (Save, Load) and the version of the graph
// (SetGraph).
package tracking
