// Package diagnose finds the cause of each congested region and who should act (Monet, section 7). In: the regions of
// an interval, the state of the fabric's links, jobs with their traffic, and failures. Out: a schema.Diagnosis per
// region and the congestion mitigation events (package mitigation). It is a stage of the analysis: values in, values
// out, with a bounded memory of the last intervals. It does no I/O and reads no clock.
//
// What is known of jobs, failures and links alone is in package history; which links traffic can take, in package
// routes; where back pressure begins by the readings, in package root; how traffic and stall agree in time, in package
// correlation; the words, in package ticket. The rest is here.
//
// A verdict is made in the steps below (diagnose.go calls them). Steps 1 and 2 and the reports are for all regions of
// an interval, the others region by region. A step writes its own part of the regionCase, and reads those of the steps
// before.
//
//  1. open: how did each region stall in the remembered intervals, and since when as it does now, its onset?
//  2. measure: which jobs run, which regions can the traffic of each cross, and what do links carry?
//  3. examine, root: to which port does the stall lead, if links have directions (package root)?
//  4. examine, suspects (A table): which jobs are near or may cross the region, and does the traffic of each stand out
//     (median and MAD) or follow the stall (correlation with a lag, tested against circular shifts)?
//  5. examine, ends: on a grid, at which switch or link does the traffic end, and who sends to it?
//  6. rateFailures (F table), rate: how well does each failure, job, slow host or slow link explain that? Scores are log
//     odds against an unknown cause, averaged over the last intervals.
//  7. decide: the scores become odds. The likeliest cause is the verdict if it is likely enough, else it is unknown; of
//     jobs, one alone or together with others.
//  8. report: the root that was found most often, the victims and the words; or an earlier verdict that still stands.
//
// Two kinds of links need rules of their own (rules): a method of grid applies to links that stand for both directions,
// one of directed to links that stand for one, any other to both.
//
//	diagnose.go          the order of the judgement
//	stage.go             Stage: what it takes, and the order of an interval
//	regioncase.go        regionCase: what is found of a region, in the order of the steps
//	rules.go             what depends on the kind of links
//	weights.go           the weights of all scores, and how often verdicts are right
//	statistics.go        medians, deviations and means; how a number becomes evidence (ramp, logistic)
//	config.go            thresholds that a user can set
//	save.go              saved state
//
// 1. How did the region stall over time? (timeline)
//
//	timeline.go          the onset, the last burst, the baseline before them, and what the links carried then
//	onset.go             since when a series of stalls is as high as now
//	steps.go             a stall that steps up with a failure, or rises in two steps
//
// 2. What does the fabric show in the interval, for all regions? (interval)
//
//	interval.go          its parts, and memory that is reused
//	linkload.go          the load of links, and ratios to the baseline, either of which may be unknown
//	runningjobs.go       running jobs, with what is measured of each, and the jobs at each device
//	memberships.go       the regions of each link
//	newphase.go          regions that begin together all over a job's nodes
//
// 3. To which port does the stall lead? That is found by package root. Of it follows
//
//	hostbounds.go        the most that hosts can have added to a link
//	hostbalances.go      what a host sends beyond what it takes in
//	outflows.go          whose hosts send what arrives at a host
//
// 4. Which jobs may have caused it? (suspect)
//
//	suspects.go          jobs near the region or across it
//	distance.go          distances from a region
//	features.go          which part of a job's traffic agrees with the stall in time, and whether it is file traffic
//	trafficshares.go     what jobs moved, recently and in the baseline; their shares of a region
//	joblosses.go         what a job lost since an onset
//	remotereads.go       jobs that read by RDMA from elsewhere, and the load on the way of that
//
// 5. Where does its traffic end? On a grid (ends); directed links have a root.
//
//	gridends.go          where it converges, the likeliest senders, and at the nodes of which switch it ends
//	convergingjobs.go    whose nodes send to one switch what was added
//	nodeshare.go         whether a node there gets its share of its job's exchange
//
// 6. How well does each cause explain the evidence? (log odds)
//
//	nearfailures.go      failures near the region, the likeliest first (nearFailure)
//	linksbeside.go       which links of the region are at what failed
//	failurescores.go     a failure, by time, distance and load that moved; a link that lost rate without one
//	otherports.go        what a failure cuts off and hosts then exchange by their other ports
//	parallellinks.go     what links parallel to those that failed carry for them, if nothing is remembered from before
//	slowhost.go          a slow host
//	jobscores.go         a job, whatever the links
//	directedscores.go    a job, by where back pressure begins on directed links
//	gridscores.go        a job, by where the traffic of a region of a grid ends, and where load was added
//	waitinghosts.go      a job, by whose hosts wait to send
//	enoughtraffic.go     a job, by whether it moves enough
//	withoutonset.go      a job, of a region without an onset
//	nodebounds.go        a job, by what its nodes send on a grid of directed links
//	unlisted.go          a job that no table lists, by its hosts or by traffic on the accused's
//	meanscores.go        means of scores over the last intervals
//
// 7. Which of them is it?
//
//	verdict.go           the scores weighed against each other, and the confidence
//	ownorothers.go       the job alone, or with others
//	switchstall.go       stall inside switches has the verdict of the region around it
//
// 8. What is reported?
//
//	report.go            the diagnosis, and the jobs that are victims
//	reportedroot.go      where the region ends: which answer is reported
//	rootvotes.go         the root that was found most in the last intervals
//	keptverdict.go       the verdict from when the onset was remembered
//	finding.go           what its words depend on
package diagnose
