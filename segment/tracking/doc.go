// Package tracking follows regions through time. Input: the regions of successive
// intervals. Output: their identities, events (births, ends, merges, splits, changes of
// severity), the state of the network and a forecast. It finds no regions and explains
// none.
//
// # Identity
//
// A current region and a previous one of the same metric may be the same if they share more
// than MinOverlap of the smaller one's links (Monet's released code: half). These pairs are
// matched greedily, by decreasing Jaccard index and, on a tie, the older region first.
//
//   - Split: the most similar part continues the region; each other part is a new
//     region that comes from it.
//   - Merge: the oldest region continues, of those that contribute at least half as many
//     links as the most similar one; so a small old region does not rename a large one
//     that absorbs it.
//   - Gap: a region that was not seen, or was merged, for at most GapIntervals keeps its
//     identity when it reappears.
//
// # Events
//
// The start of an identity is reported with one event, born or split, and its end with one,
// ended or merged; a region reported as merged that separates within the gap is reported as
// split. Events are debounced: each reports a state that has lasted DebounceIntervals, with
// the time at which it began. Shorter-lived regions are followed but not reported.
//
// Identities survive a restart (Save, Load) and a new version of the graph (SetGraph).
package tracking
