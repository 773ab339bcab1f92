// Package diagnose finds the cause of each congested region and who should act (Monet, section 7). In: the regions of
// an interval, the state of the fabric's links, jobs with their traffic, and failures. Out: a schema.Diagnosis per
// region and the congestion mitigation events (package mitigation). It is a stage of the analysis: values in, values
// out, with a bounded memory of the last intervals. It does no I/O and reads no clock.
//
// Jobs near a region or with traffic across it are candidates (A table), as are failures near it in the last
// intervals (F table). Outliers in the jobs' traffic are found by median and MAD. Each candidate gets evidence:
// correlation with its lag (tested against circular shifts), coincidence with the onset, and the share of the region
// that its routes cross. Back pressure is followed to its root port (package root). A score over these numbers
// decides; if none is convincing, the verdict is unknown.
//
// What is known of jobs, failures and links alone is in package history; which links traffic can take, in package
// routes; where back pressure begins by the readings, in package root. The rest is here, in the order in which it is
// found, with the type that holds it; a failure's score (step 5) is found with the failure (step 4).
//
// Two kinds of links need rules of their own: ground says which, and chooses them. A method of grid applies to links
// that stand for both directions, one of directed to links that stand for one, any other to both.
//
//	stage.go             Stage: what it takes, and the order of an interval
//	diagnose.go          the order in which regions are diagnosed, and in which one is measured
//	ground.go            what depends on the kind of links
//	weights.go           the weights of all scores, and how often verdicts are right
//	config.go            thresholds that a user can set
//	save.go              saved state
//
// 1. What is measured of the fabric in the interval, for all regions (interval):
//
//	interval.go          its parts, and memory that is reused
//	linkload.go          the load of links, and ratios to the baseline, either of which may be unknown
//	runningjobs.go       running jobs, with what is measured of each, and the jobs at each device
//	trafficshares.go     what jobs moved, recently and in the baseline; their shares of a region
//	joblosses.go         what a job lost since an onset
//	hostbounds.go        the most that hosts can have added to a link
//	memberships.go       the regions of each link
//	distance.go          distances from a region
//	outliers.go          medians and deviations
//
// 2. How did a region stall over time? (timeline, in its case)
//
//	regioncase.go        regionCase: what is measured of a region, in the order in which it is found
//	onset.go             since when a series is as high as now, and how far it rose then
//	timeline.go          the onset, the last burst, the baseline before them, and what the links carried then
//	newphase.go          regions that begin together all over a job's ground
//	stepup.go            a region that always stalled begins with a failure beside it
//	firststep.go         a stall that rises in two steps begins with the first
//
// 3. Which jobs may have caused it? (suspect)
//
//	suspects.go          jobs near the region or across it, and the evidence by time on each
//	remotereads.go       jobs that read by RDMA from elsewhere
//	continuedjobs.go     jobs that continue the traffic of another
//
// 4. Where does its traffic end, and what failed near it? (ends, nearFailure)
//
//	gridends.go          where the traffic of a region of a grid ends
//	senders.go           the likeliest senders of a tree
//	meanreadings.go      means of the readings since the onset
//	convergingjobs.go    whose nodes send to one switch what was added
//	nodeshare.go         whether a node there gets its share of its job's exchange
//	endnodes.go          at the nodes of which switch it ends, given the verdict
//	nearfailures.go      failures near the region
//
// 5. How well does each cause explain it? (scores: log odds, functions of the case)
//
//	scores.go            a job, whatever the links
//	gridscores.go        a job, by where the traffic of a region of a grid ends
//	waitinghosts.go      a job, by whose hosts wait to send
//	remotereadpath.go    a job that reads, by the load on its way
//	enoughtraffic.go     a job, by whether it moves enough
//	withoutonset.go      a job, of a region without an onset
//	vacantswitches.go    a job, of a region where no listed job is
//	exchangeload.go      a job without traffic data, by whether its exchange fits the added load
//	failurescores.go     a failure, and a link that lost rate without one
//	rerouted.go          a failure, by the load that moved from the failed link
//	slowhost.go          a slow host
//	unlistedhosts.go     hosts of no listed job
//	unlistedtraffic.go   traffic on a job's hosts that the traffic table lacks
//
// 6. Which of them? (decision, and steady, which holds it steady over the intervals)
//
//	verdict.go           the scores weighed against each other, and the confidence
//	ownorothers.go       the job alone, or with others
//	othersload.go        the part of others in the region's load
//	switchstall.go       stall inside switches has the verdict of the region around it
//	meanscores.go        means of scores over the last intervals
//	rootvotes.go         the root that was found most
//	keptverdict.go       the verdict from when the onset was remembered
//
// 7. What is reported? (report)
//
//	report.go            the diagnosis, and the jobs that are victims
//	reportedroot.go      where the region ends: which answer is reported
//	action.go            what to do
//	text.go              its text
package diagnose
