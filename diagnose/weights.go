package diagnose

// The scores of causes are log odds against an unknown cause: a bias and the contribution of each number. They were
// chosen on incidents with truth (package bench). All of them are here, by the cause that they rate; from which value
// on a number counts is said beside the rule.

// Of a job.
const (
	jobBias       = -6.9
	jobSpace      = 4.5 // share of the region's stall where its traffic can be
	jobFit        = 3.  // correlation
	jobRise       = 2.5 // at the onset
	jobStarted    = 2.25
	jobGrowth     = 2.  // of the load added to the region
	jobElsewhere  = 2.5 // back pressure begins where its exchange does not go
	jobAbsent     = 4.  // it has next to no part in the region
	jobTooLittle  = 6.  // it moves too little to fill the port where back pressure begins
	jobUnmeasured = 4.  // it began with the onset, and its traffic is unknown
	jobUnseen     = 2.3 // half of that, on directed links without load readings, if nothing shows that it sends there
	jobUnplaced   = 4.  // on a grid without load readings: the stall is where its traffic cannot be
	// the added load is a tree of its nodes' routes, or all of its exchange, and its traffic is unknown
	jobConverges = 5.
	jobSendsAll  = 4.  // the added load is a tree of the routes from its nodes to one switch
	jobReceives  = 3.  // the full port leads to a host of this job alone, and it moves enough to fill that
	jobExplains  = 3.5 // the region's load always was its exchange, in whole or in part
	jobRemains   = 5.  // the region always stalled, and this is the only job without traffic data
	jobAlone     = 2.5 // the same without load readings, and all jobs there are measured
	jobReads     = 2.5 // its file traffic is an outlier and follows the stall over the whole window
	jobOutlying  = 1.5 // its file traffic stands out; exchanges of large jobs always do
	jobShare     = 1.5
	jobRose      = 1.  // the load on the region rose, weighted by its share of it
	jobEmpty     = 15. // per share of the region on switches without a listed job, beyond the usual
	// without load readings: per factor of e between its part of the time for which hosts wait to send and the usual
	// one
	jobSends  = 3.
	jobStarts = 5. // the same of the switches where an incast comes from

	// Links between a job and others, and on trees those at its border beside its exchange, count less if its file
	// traffic is measured and no outlier, or is not measured.
	wayWithoutFiles, wayUnknown = .25, .7
)

// unmoved is the share of a tree's evidence for a job, if it ends at the job's node, whose traffic neither rose nor
// correlates with the stall; from the strength moving on it counts in full. On links that always wait, full buffers
// hold up the job's traffic.
const unmoved, moving = .4, .5

// Of a failure, or of a link that lost rate without one.
const (
	failureBias      = -4.
	failureOnset     = 4.5
	failureNear      = 2.5
	failureMoved     = 2.5 // its earlier load was added to the full link
	failureStands    = 1.  // without load readings, the region ends at links that replace a part that is still down
	restoredShare    = .25 // a restored part seldom causes congestion
	hostShare        = .15 // nor does a host, its link, or an idle link: no traffic passes through
	slowLinkFell     = 2.  // a link that carries less than before while others wait for it
	slowLinkLost     = 4.  // per share lost beyond that
	slowLinkMeasured = 12. // others wait for it and it sends less than it could: no job explains that
	slowLinkAlone    = 3.  // without load readings, it alone holds back what waits at both of its ends

	// If more arrives for a host than its port can deliver, load is the cause.
	incastLoad = 4.
)

// waitsForHost counts against a failure if a region of directed links waits for a host that takes too little, and
// neither ends at what failed nor carries its load: as much as if more arrives for a host than its port can deliver.
const waitsForHost = incastLoad

// leadsElsewhere counts against a failed link of a grid without load readings if none of a region leads to it: its time
// then counts as little as that of a link that was idle. Load readings show whether it was, and where its load moved.
const leadsElsewhere = (1 - hostShare) * failureOnset

// Of load: what fell at the onset, to fallen of the baseline, is evidence against load as the cause; what rose, beyond
// risen, against failures.
const fallen, risen, loadFell, loadRose, mostRose = .95, 1.15, 1.5, 1.5, 4.

// Of a host that does not take what arrives. On a grid they are a logistic regression on incidents of three simulators,
// with the other causes' scores fixed, on features that agree in all of them (docs/measurements/diagnosis.md).
const (
	slowHostFull    = 3.  // a port to a host that stalls and carries little
	slowHostPaused  = 8.  // and hardly anything, whatever jobs do
	slowHostMaybe   = 1.  // its load is unknown
	slowHostGrid    = -.1 // on a grid
	slowHostArrives = 1.9 // per halving of what arrives where the region's traffic ends
	slowHostLoad    = .9  // per halving of the region's load
	slowHostGrew    = 1.5 // load was added where traffic meets
	slowHostTree    = .9  // held-back traffic is a tree to one switch
	slowHostStarved = 3.5 // and a node there gets less than its share of its job's exchange
	slowHostFailure = 1.5 // a failure explains it
)

// mostUnlisted bounds the blame of hosts of no listed job, as a multiple of that of the accused.
const mostUnlisted = 100

// unlistedWeight is the weight of what hosts of no listed job send, relative to the accused's: such hosts seldom send
// more than before, or anything that could wait, while jobs begin and change all the time, and every job in a region
// waits.
const unlistedWeight = 3.

// How often a verdict is right.

// calibration maps a probability by the scores to how often it is right: a logistic regression on its log odds.
type calibration struct{ slope, offset float64 }

// Verdicts that name a cause are right more often than the scores say where these hesitate, and less often where they
// are sure, as fitted in three simulators (docs/measurements/diagnosis.md). Verdicts of an unknown cause are right less
// often: the scores' zero assumes that a culprit missing from all tables is as common as any other, and of two equally
// likely causes one is right. Without load readings, slow hosts and links, and jobs that show only where load was
// added, are unknown on grids, too.
var (
	causeCalibration   = calibration{slope: .85, offset: .7}
	unknownCalibration = calibration{slope: .8, offset: -1}
	unknownStallOnly   = calibration{slope: .8, offset: -3.2}
)

// mostConfident bounds confidence: even on the incidents of package bench, one in a hundred of the verdicts with the
// most evidence is wrong.
const mostConfident = .99

// Whose a region of jobs is.

// ofOthers models the probability of each class by the part of others in a region: the log odds that system rather than
// intra_application is right are linear in the log odds of that part, and either is right with the log odds of both
// being equal. A large loss of another job at the onset adds lost: it is held up as a whole, however little of it waits
// on the region's links. No such loss says nothing, as senders that do not wait for each other lose only what their
// queues do not take.
type ofOthers struct{ slope, middle, either, lost, mayHurt float64 }

// They were fitted on 318 incidents of three simulators, on grids with load readings on 44 of three, where losses say
// nothing beside the load except of an incast (convergingjobs.go), and without load readings on 432 of three, the
// losses there on 84 (docs/measurements/diagnosis.md); partPrior keeps a part of 0 or 1 from being certain.
var (
	othersOnTrees       = ofOthers{slope: 6.3, middle: 5.1, either: 2.1, lost: 8, mayHurt: .1}
	othersOnLoadedGrids = ofOthers{slope: 4, middle: 1.8, either: 1.5, lost: 6, mayHurt: .3}
	othersOnGrids       = ofOthers{slope: 2.8, middle: 1, either: 1.3, lost: 4.4, mayHurt: .2}
)

const partPrior = .3
