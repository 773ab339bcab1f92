package collective

import "regexp"

// Diagnosis is the result of Diagnose. Its JSON form is the documented output of
// giverny collective diagnose.
type Diagnosis struct {
	Ranks         int       `json:"ranks"`
	Steps         int       `json:"steps"` // of one collective, the longest where they differ
	Iterations    int       `json:"iterations"`
	MakespanNanos int64     `json:"makespan_ns"`   // first begin to last end; 0 without finished records
	CriticalPath  []Segment `json:"critical_path"` // contiguous; the durations sum to the makespan
	ExpectedNanos int64     `json:"expected_ns"`   // the makespan without the culprits
	Culprits      []Culprit `json:"culprits"`      // by descending cost
	StoppedRanks  []int     `json:"stopped_ranks"` // where a hang begins
	LateRanks     []int     `json:"late_ranks"`
	MissingRanks  []int     `json:"missing_ranks"`

	ClockOffsets []ClockOffset `json:"clock_offsets,omitempty"`
	Disagreement []string      `json:"disagreement,omitempty"` // ranks whose sequences of collectives differ
	Notes        []string      `json:"notes,omitempty"`
	Text         string        `json:"text"`

	FirstNanos int64  `json:"-"` // the run's first begin, by the records' own clock
	Losses     []Loss `json:"-"` // where and when the culprits' costs arose

	unexplained int64 // without culprits: the makespan less the expected one, by the steps
}

// Offsets returns the offsets of the ranks' clocks, in nanoseconds, by rank.
func (d *Diagnosis) Offsets() map[int]int64 {
	nanos := map[int]int64{}
	for _, o := range d.ClockOffsets {
		nanos[o.Rank] = o.OffsetNanos
	}
	return nanos
}

// Loss is a part of a culprit's cost: the time it took of one transfer. The losses of a
// culprit sum to its cost, up to rounding.
type Loss struct {
	Culprit    int   // index in Diagnosis.Culprits
	Rank, Peer int   // sender and receiver; Peer None in a step without a transfer
	BeginNanos int64 // of the step, from the run's first begin
	EndNanos   int64
	Nanos      int64
}

// SegmentKind is how a segment of the critical path was spent.
type SegmentKind string

// A transfer; a wait for something that was not recorded; a rank's own time between the
// last thing a step needed and its begin.
const (
	Transfer SegmentKind = "transfer"
	Wait     SegmentKind = "wait"
	Compute  SegmentKind = "compute"
)

// Segment is a part of the critical path. Times count from the run's first begin.
type Segment struct {
	Rank         int         `json:"rank"`
	Node         string      `json:"node"`
	Step         int         `json:"step"`
	Kind         SegmentKind `json:"kind"`
	BeginNanos   int64       `json:"begin_ns"`
	EndNanos     int64       `json:"end_ns"`
	Communicator int         `json:"communicator,omitempty"`
	Iteration    int         `json:"iteration,omitempty"`
	Channel      int         `json:"channel,omitempty"`
	Chunk        int         `json:"chunk,omitempty"`
	Peer         string      `json:"peer,omitempty"` // the receiver's node
}

// Class is the kind of a culprit.
type Class string

// The classes of culprits.
const (
	BackgroundFlow    Class = "background_flow"
	SelfCollision     Class = "self_collision"
	HostNICContention Class = "host_nic_contention"
	PFCRoot           Class = "pfc_root"
	Incast            Class = "incast"
	Deadlock          Class = "deadlock"
	SlowLink          Class = "slow_link"
	SlowHost          Class = "slow_host"
	Straggler         Class = "straggler"
	Hang              Class = "hang"
)

// Culprit is a cause of lost time. CostNanos is what the makespan would lose without
// the culprit; for a hang or deadlock, how long the job is known to have been stopped.
type Culprit struct {
	Class      Class   `json:"class"`
	Flow       string  `json:"flow"` // source->destination by node names; empty where there is none
	CostNanos  int64   `json:"cost_ns"`
	Object     string  `json:"object"` // the place: switch N port P, or host N
	Confidence float64 `json:"confidence"`

	// CostRangeNanos bounds the cost where the records leave it open: at least what
	// they prove, at most everything the culprit may have caused. Absent if both ends
	// are within 5% of CostNanos.
	CostRangeNanos [2]int64 `json:"cost_range_ns,omitzero"`
	// AloneNanos is the cost if the culprit were the only one.
	AloneNanos int64  `json:"alone_ns,omitempty"`
	Evidence   string `json:"evidence,omitempty"`
}

// portObject formats a port as a culprit's object: switch name and port number.
const portObject = "switch %s port %d"

var portsOf = regexp.MustCompile(`switch (\S+) port (\d+)`)

// PortName is a port of a switch, as named in the records.
type PortName struct{ Switch, Port string }

// Ports returns the ports that the object names.
func (c *Culprit) Ports() (ports []PortName) {
	for _, m := range portsOf.FindAllStringSubmatch(c.Object, -1) {
		ports = append(ports, PortName{m[1], m[2]})
	}
	return ports
}

// ClockOffset says how far a rank's clock is ahead of the reference rank's.
type ClockOffset struct {
	Rank        int   `json:"rank"`
	OffsetNanos int64 `json:"offset_ns"`
}

// Options supplies what the records do not contain.
type Options struct {
	LineRateBitsPerSecond int64 // nominal rate of a link; 0: taken from the fabric
	Limit                 int   // records at most; 0: 8,388,608

	// Stop is polled to cancel a diagnosis; the result of a cancelled one is not
	// usable. nil: never.
	Stop func() bool
}

// defaultLimit bounds the step records of one Run: four iterations of the largest ring
// that was measured (1,024 ranks, 2,046 steps).
const defaultLimit = 1 << 23
