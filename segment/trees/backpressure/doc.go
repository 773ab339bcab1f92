// Package backpressure has the first step of the tree method (package trees): which links of a snapshot are stalled, and for
// which of these each may wait. It also has the regions that the steps pass on, with the root of each.
//
//	graph.go             Graph: links by switch, and which may wait for which
//	levels.go            whether a fabric has two levels
//	rails.go             the leaves that connect the same hosts
//	noise.go             the noise of calm links, and how it grows with stall
//	nodes.go             Nodes: the stalled links; Waits: for which others each may wait
//	zeros.go             zeros that cannot be right
//	connect.go           what each node may wait for, also behind links that were not measured
//	loneends.go          but not lone hot links, which raise nothing that may wait for them
//	unread.go            and behind links whose readings may have failed
//	regions.go           Regions: groups of links, and the root of each
package backpressure
