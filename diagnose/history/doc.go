// Package history remembers what the jobs, the failures and the links of one fabric did in the last intervals, which is
// what package diagnose learns. In: the input of each interval (Learn). Out: answers about jobs, failures and links:
// their traffic, load and stall by interval, which parts failed, and which cables carry nothing. It knows no region,
// decides nothing, and does no I/O; its state is saved and restored with that of the diagnosis.
//
//	history.go           what is remembered, and the order in which an interval is learned
//	clock.go             intervals by number; rings by these; values that were not measured
//	save.go              its saved state
//
// Jobs:
//
//	jobs.go              running and recently ended jobs, with their places in the fabric
//	traffic.go           their traffic by interval, of each kind
//	traffictable.go      rows of the traffic table
//	hosttraffic.go       traffic derived from the links of the jobs' hosts, as far as the table has none
//
// Failures:
//
//	failures.go          failures with their places in the fabric, and what the failed links carried before
//	outages.go           how often a part went down
//	silent.go            cables that are dead by their counters, whether or not a log reports it
//
// Links:
//
//	levels.go            stall and load of each link by interval, a byte each
//	levelmeans.go        means of many links at once
//	usebefore.go         cached means: of the load in some intervals, and of a metric over the last ones
//	gaps.go              readings lost in one interval are those of the interval before
package history
