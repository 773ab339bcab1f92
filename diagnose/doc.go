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
// routes; where back pressure begins by the readings, in package root; the words, in package ticket. The rest is here.
// diagnose.go has the order, and calls the steps below: what the fabric shows (measure), then region by region the
// evidence (begin, examine), the scores (rateFailures, rate) and the decision (decide), then all reports. A step writes
// its own part of the regionCase, and reads those of the steps before.
//
// Two kinds of links need rules of their own (rules): a method of grid applies to links that stand for both directions,
// one of directed to links that stand for one, any other to both.
//
//	diagnose.go          the order of the judgement
//	stage.go             Stage: what it takes, and the order of an interval
//	regioncase.go        regionCase: what is found of a region, in the order of the steps
//	rules.go             what depends on the kind of links
//	weights.go           the weights of all scores, and how often verdicts are right
//	config.go            thresholds that a user can set
//	save.go              saved state
//
// 1. What does the fabric show in the interval, for all regions?
//
//	interval.go          its parts, and memory that is reused
//	linkload.go          the load of links, and ratios to the baseline, either of which may be unknown
//	runningjobs.go       running jobs, with what is measured of each, and the jobs at each device
//	trafficshares.go     what jobs moved, recently and in the baseline; their shares of a region
//	joblosses.go         what a job lost since an onset
//	hostbounds.go        the most that hosts can have added to a link
//	memberships.go       the regions of each link
//	distance.go          distances from a region
//	statistics.go        medians, deviations and means; how a number becomes evidence (ramp, logistic)
//
// 2. Evidence: how did the region stall over time? (timeline)
//
//	timeline.go          the onset, the last burst, the baseline before them, and what the links carried then
//	onset.go             since when a series of stalls is as high as now
//	steps.go             a stall that steps up with a failure, or rises in two steps
//	newphase.go          regions that begin together all over a job's nodes
//
// 3. Evidence: which jobs may have caused it? (suspect)
//
//	suspects.go          jobs near the region or across it
//	features.go          which part of a job's traffic agrees with the stall in time, and whether it is file traffic
//	remotereads.go       jobs that read by RDMA from elsewhere, and the load on the way of that
//
// 4. Evidence: where does its traffic end? On a grid (ends); directed links have a root (package root).
//
//	gridends.go          where it converges, the likeliest senders, and at the nodes of which switch it ends
//	convergingjobs.go    whose nodes send to one switch what was added
//	nodeshare.go         whether a node there gets its share of its job's exchange
//
// 5. Scores: how well does each cause explain the evidence? (log odds)
//
//	nearfailures.go      failures near the region, the likeliest first (nearFailure)
//	failurescores.go     a failure, by time, distance and load that moved; a link that lost rate without one
//	otherports.go        what a failure cuts off and hosts then exchange by their other ports
//	slowhost.go          a slow host
//	jobscores.go         a job, whatever the links
//	directedscores.go    a job, by where back pressure begins on directed links
//	gridscores.go        a job, by where the traffic of a region of a grid ends, and where load was added
//	waitinghosts.go      a job, by whose hosts wait to send
//	enoughtraffic.go     a job, by whether it moves enough
//	withoutonset.go      a job, of a region without an onset
//	unlisted.go          a job that no table lists, by its hosts or by traffic on the accused's
//
// 6. Decision: which of them? The last intervals hold it steady.
//
//	verdict.go           the scores weighed against each other, and the confidence
//	ownorothers.go       the job alone, or with others
//	switchstall.go       stall inside switches has the verdict of the region around it
//	meanscores.go        means of scores over the last intervals
//
// 7. What is reported?
//
//	report.go            the diagnosis, and the jobs that are victims
//	reportedroot.go      where the region ends: which answer is reported
//	rootvotes.go         the root that was found most in the last intervals
//	keptverdict.go       the verdict from when the onset was remembered
//	finding.go           what its words depend on
package diagnose
