// Package collective explains why collective operations took as long as they did. The input is a Run: the step records
// of the ranks and, as far as recorded, other flows, switch telemetry, PFC pauses and the fabric. The result is a
// Diagnosis: the makespan, the critical path to the nanosecond, and the culprits with class, place and cost in
// nanoseconds of makespan. Subpackages read the recorded formats. Package plans has the steps that an algorithm
// prescribes, partners who sends to whom in them, and network the ports that a flow passes. This package reads no file
// and no clock.
//
// The method is Vedrfolnir's (Chen et al., "RDMA Network Performance Anomalies Diagnosis in Collective Communications",
// SIGCOMM 2025 poster): decomposition into steps, waiting graph, critical path, PFC provenance.
// docs/explanation/collectives.md lists where this package departs from the poster or from errors in the released code.
//
//	diagnose.go          Analyser: the order of a diagnosis
//	long.go              runs of more records than are diagnosed at once: parts, from the last to the first
//	scratch.go           memory that is reused
//
// What goes in, and what comes out
//
//	run.go               Run: what was recorded
//	usable.go            a run without references to nothing and impossible numbers
//	leftout.go           what a diagnosis did not use
//	diagnosis.go         Diagnosis, Culprit and Options
//	text.go              a diagnosis as text
//
// 1. In which order did the steps run? (table, the waiting graph)
//
//	table.go             the graph: a vertex per step, edges to the rank's step before and to the awaited transfer
//	whole.go             the same in one pass, for records in order without gaps
//	clock.go             the clocks of the ranks on one time axis
//	receptions.go        further edges: a rank begins an iteration after it received all of the one before
//	holes.go             gaps in the records of a rank
//	path.go              the critical path; the makespan of a run replayed with other durations
//
// 2. What do the records show of flows, ports and hosts? (traffic, pauses; evidence has answers about them)
//
//	traffic.go           streams: who sent when, and through which ports
//	background.go        streams of flows outside the collective
//	senders.go           the streams that send in a time range
//	spells.go            when a stream was active; whether a port has room for all that do
//	fabric.go            what the records say about each port
//	pauses.go            when a port was paused, and the ports from which pauses spread
//	baseline.go          how long steps take on a healthy fabric
//	evidence.go          cause: why a step took longer; links below their nominal rate
//
// 3. Why did a step take longer? Each appends causes to those of a step.
//
//	contention.go        flows that share a port
//	provenance.go        roots of pauses
//	slowport.go          ports that were slow although nothing paused them
//	stem.go              slow links behind paused ports
//	paced.go             hosts that always send too slowly
//
// 4. Who is to blame for the lost time, and what did it cost? (analysis)
//
//	blame.go             each step's excess is divided among its causes
//	unexplained.go       what no cause of the step explains: causes of neighbouring steps, the host
//	knockon.go           what follows from an earlier culprit is that one's
//	counterfactual.go    cost: the makespan less that of the run replayed without the culprit
//	costrange.go         the bounds of a cost
//
// 5. If the collective did not end: where does the waiting begin? (standstill)
//
//	standstill.go        the ranks at which it begins, and what is behind that
//	course.go            how far each rank got; the algorithm by who sent to whom
//	pairing.go           the same for a direct all-to-all
//	standing.go          cycles of ports that stayed paused; the ranks furthest behind
//	missing.go           transfers that ended, and only their records are missing
package collective
