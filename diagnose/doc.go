// Package diagnose finds the cause of each congested region and who should act (Monet, section 7). In: the regions of an
// interval, the state of the fabric's links, jobs with their traffic, and failures. Out: a schema.Diagnosis per region and
// the congestion mitigation events (package mitigation). It is a stage of the analysis: values in, values out, with a
// bounded memory of the last intervals. It does no I/O and reads no clock.
//
// Jobs near a region or with traffic across it are candidates (A table), as are failures near it in the last
// intervals (F table). Outliers in the jobs' traffic are found by median and MAD. Each candidate gets evidence:
// correlation with its lag (tested against circular shifts), coincidence with the onset, and the share of the region
// that its routes cross. Back pressure is followed to its root port (package root). A score over these numbers
// decides; if none is convincing, the verdict is unknown.
//
// What is known of jobs, failures and links alone is in package history; which links traffic can take, in package routes; where back
// pressure begins by the readings, in package root. The rest is here, in the order in which it is found, with the type that holds it;
// a failure's score (step 5) is found with the failure (step 4).
//
//	stage.go             Stage: what it takes, and the order of an interval
//	diagnose.go          the order in which regions are diagnosed, and in which one is measured
//	config.go            thresholds
//	save.go              saved state
//
// 1. What is measured of the fabric in the interval, for all regions (interval):
//
//	interval.go          its parts, and memory that is reused
//	running.go           running jobs, with what is measured of each, and the jobs at each device
//	trafficshares.go     what jobs moved, lately and before an onset; their shares of a region
//	losses.go            what a job lost since an onset
//	bound.go             the most that hosts can have put on a link
//	memberships.go       the regions of each link
//	reach.go             distances from a region
//	outliers.go          medians and deviations
//
// 2. How a region stalled over time (timeline, in its case):
//
//	case.go              regionCase: what is measured of a region, in the order in which it is found
//	onset.go             since when a series is as high as now, and how far it rose then
//	timeline.go          the onset, what was usual before it, and what the links carried then
//	together.go          regions that begin together all over a job's ground
//	stepup.go            a region that always stalled begins with a failure beside it
//	firststep.go         a stall that rises in two steps begins with the first
//
// 3. Which jobs may have caused it? (suspect)
//
//	candidates.go        jobs near the region or across it, and the evidence by time on each
//	fetches.go           jobs that read by RDMA from elsewhere
//	successor.go         jobs that continue the traffic of another
//
// 4. Where does its traffic end, and what failed near it? (ends, nearFailure)
//
//	senders.go           the likeliest senders of a tree
//	ends.go              where a tree ends on a grid
//	averages.go          means of the readings since the onset
//	convergence.go       whose nodes send to one switch what was added
//	nodeshare.go         whether a node there gets its share of its job's exchange
//	nodesend.go          at the nodes of which switch it ends, given the verdict
//	nearfailures.go      failures near the region
//
// 5. How well does each cause explain it? (scores: log odds, functions of the case)
//
//	scores.go            weights; suspects, failures and slow links
//	standing.go          a region without an onset
//	fetchpath.go         load on the way to a job that reads
//	toolittle.go         jobs that move too little
//	emptyground.go       regions where no listed job is
//	exchangeload.go      jobs without traffic data whose exchange fits the added load
//	nopart.go            jobs without a part in the region
//	slowhost.go          slow hosts
//	rerouted.go          load that moved from a failed link
//	unlisted.go          hosts of no listed job
//	unaccounted.go       traffic on a job's hosts that the traffic table lacks
//
// 6. Which of them? (decision, and steady, which holds it steady over the intervals)
//
//	verdict.go           the scores weighed against each other, and the confidence
//	classof.go           the job alone, or with others
//	othersload.go        the part of others in the region's load
//	inside.go            stall inside switches has the verdict of the region around it
//	meanscores.go        means of scores over the last intervals
//	rootvotes.go         the root that was found most
//	keptverdict.go       the verdict from when the onset was remembered
//
// 7. What is reported? (report)
//
//	report.go            the diagnosis, and the jobs that are victims
//	reportedroot.go      its root
//	action.go            what to do
//	text.go              its text
package diagnose
