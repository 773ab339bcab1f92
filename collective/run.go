package collective

import "github.com/giverny/giverny/collective/network"

// Run is what was recorded of the collectives of one job. All fields except Ranks may
// be empty. Times are nanoseconds on one clock per rank; the clocks of two ranks may
// differ (see Diagnosis.ClockOffsets).
type Run struct {
	Ranks         []Rank
	Communicators []Communicator
	Steps         []StepRecord    // in any order; duplicates are dropped
	Flows         []Flow          // background flows
	Paths         []Path          // of the collective's flows, where hosts traced them
	Telemetry     []PortReport    // reports of switches about their egress ports
	Pauses        []Pause         // PFC frames received
	Fabric        *network.Fabric // nil where unknown
	Notes         []string        // what a reader left out or assumed

	LastRecord string // where the step records end, as file:line; empty where unknown
	Cut        bool   // they end in the middle of a line, or some are missing: later ones are lost
}

// Rank is a process of the job. Its number is its index in Run.Ranks.
type Rank struct {
	Node    string // name of its host as displayed
	Host    int    // index in Fabric.Nodes; -1 where unknown
	Missing bool   // it belongs to the job but left no records
}

// Operation is what a collective computes.
type Operation string

// The operations that Decompose knows.
const (
	AllReduce     Operation = "all_reduce"
	AllGather     Operation = "all_gather"
	ReduceScatter Operation = "reduce_scatter"
	Broadcast     Operation = "broadcast"
	Reduce        Operation = "reduce"
	AllToAll      Operation = "all_to_all"
)

// Algorithm is how a collective moves its data.
type Algorithm string

// The algorithms that Decompose knows. The steps of Custom come from the records or
// from a table.
const (
	Ring            Algorithm = "ring"
	HalvingDoubling Algorithm = "halving_doubling"
	Tree            Algorithm = "tree"
	DoubleTree      Algorithm = "double_tree"
	Direct          Algorithm = "direct"
	Custom          Algorithm = "custom"
)

// Communicator is a group of ranks that run collectives together.
type Communicator struct {
	Name      string
	Members   []int // rank numbers, in the communicator's order
	Operation Operation
	Algorithm Algorithm // empty: unknown, waits are derived from the records
	Steps     int       // steps of one collective; 0 where unknown
}

// None marks a rank, step or node that is absent.
const None = -1

// StepRecord is one transfer of a collective: what one rank sent in one step. Rank,
// channel, iteration, step and chunk identify it within its communicator.
type StepRecord struct {
	Communicator int32
	Iteration    int32 // from 0
	Channel      int32 // from 0
	Chunk        int32 // from 0, of a pipelined step
	Step         int32 // from 1
	Rank         int32 // the sender
	Peer         int32 // the receiver; None in a step without a transfer

	// AwaitsRank and AwaitsStep name the transfer whose data this step needs before it
	// begins, in the same channel, iteration and chunk. AwaitsStep 0: not recorded,
	// derived from the Peer of other records; None: the step needs no data. AwaitsStep
	// is less than Step: steps are numbered in the direction of the data flow.
	AwaitsRank int32
	AwaitsStep int32

	Bytes      int64
	BeginNanos int64
	EndNanos   int64 // 0: begun, not finished
	AloneNanos int64 // duration on an idle fabric; 0 where unknown
}

// Flow is a background flow.
type Flow struct {
	Source, Destination         int // indices in Fabric.Nodes
	SourcePort, DestinationPort int
	Bytes                       int64
	BeginNanos                  int64
	EndNanos                    int64 // 0 where unknown
}

// Path is the path of the collective's flow between two hosts.
type Path struct {
	Source, Destination int // indices in Fabric.Nodes
	Ports               []network.Port
}

// PortReport is what a switch recorded about one egress port in one epoch.
type PortReport struct {
	Record     int   // reports of one telemetry record have the same number
	TimeNanos  int64 // when the record was written
	EpochNanos int64 // begin of the epoch
	LastNanos  int64 // end of what the epoch covers
	Switch     int   // index in Fabric.Nodes
	Port       int   // the egress port, from 1
	Signal     bool  // the record follows a paused port upstream
	In         int   // for a signal: the ingress port it came from; otherwise 0
	MeterBytes int64 // for a signal: bytes from In to Port in the meter's window
	Packets    int64
	QueueSum   int64 // sum over packets of the queue they found, in packets
	Paused     int64 // packets that found the port paused
	Flows      []FlowReport
}

// FlowReport is a flow's row in a PortReport.
type FlowReport struct {
	Source, Destination         int // indices in Fabric.Nodes
	SourcePort, DestinationPort int
	Collective                  bool  // the flow belongs to the collective
	MinSeq, MaxSeq              int64 // bytes from the flow's begin
	Packets, QueueSum, Paused   int64
}

// Pause is a PFC frame received by a node's port: it must stop, or may send again.
type Pause struct {
	TimeNanos int64
	Node      int // index in Fabric.Nodes
	Port      int // from 1
	Resume    bool
}
