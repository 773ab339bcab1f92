package incident

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/simulate/routing"
)

// Healthy is the class of an incident without a culprit.
const Healthy collective.Class = "healthy"

// Classes lists the classes of incidents: the taxonomy, and healthy.
func Classes() []collective.Class {
	return []collective.Class{Healthy, collective.BackgroundFlow, collective.SelfCollision, collective.HostNICContention, collective.PFCRoot,
		collective.Incast, collective.Deadlock, collective.SlowLink, collective.SlowHost, collective.Straggler, collective.Hang}
}

// Algorithms lists the simulated algorithms.
func Algorithms() []collective.Algorithm {
	return []collective.Algorithm{collective.Ring, collective.HalvingDoubling, collective.Tree, collective.Direct}
}

// Spec is what to simulate. Equal Specs give equal incidents.
type Spec struct {
	Class      collective.Class
	Algorithm  collective.Algorithm
	ChunkBytes int64 // of a step of a ring or all-to-all; an eighth of the data for the others
	Seed       uint64
	Ranks      int  // 4 to 256, two on each leaf; 0: 8
	Spines     int  // 4 to 16; 0: 4
	HostLink   bool // a slow link is that of a host, in one direction, not one between switches
}

// Bounds of a Spec. With fewer ranks no two flows leave the same leaf in the same step.
const (
	usualRanks = 8
	leastRanks = 4
	mostRanks  = 256
	mostSpines = 16
)

// shape returns the size of a Spec's fabric.
func (s Spec) shape() (ranks, leaves, spines int) {
	ranks = cmp.Or(s.Ranks, usualRanks)
	return ranks, max((ranks+ranksPerLeaf-1)/ranksPerLeaf, leastLeaves), max(s.Spines, leastSpines)
}

// Validate reports an invalid field.
func (s Spec) Validate() error {
	if s.Ranks != 0 && (s.Ranks < leastRanks || s.Ranks > mostRanks) || s.Spines != 0 && (s.Spines < leastSpines || s.Spines > mostSpines) {
		return fmt.Errorf("%d ranks, %d spines: want %d to %d ranks, and %d to %d spines", s.Ranks, s.Spines, leastRanks, mostRanks, leastSpines, mostSpines)
	}
	ranks, _, _ := s.shape()
	if s.Algorithm == collective.HalvingDoubling && ranks&(ranks-1) != 0 {
		return fmt.Errorf("halving_doubling of %d ranks: want a power of two; the ranks beyond one make the others collide even where nothing is wrong", ranks)
	}
	if s.Class == collective.Deadlock && ranks < usualRanks {
		return fmt.Errorf("deadlock of %d ranks: want %d or more; fewer can end before the loop of pauses closes", ranks, usualRanks)
	}
	for _, c := range Classes() {
		if c != s.Class {
			continue
		}
		for _, a := range Algorithms() {
			if a == s.Algorithm && s.ChunkBytes >= 1<<16 && s.ChunkBytes <= 1<<30 {
				return nil
			}
		}
		return fmt.Errorf("collective %q of chunks of %d bytes: want one of %v, and 65536 to 1073741824 bytes", s.Algorithm, s.ChunkBytes, Algorithms())
	}
	return fmt.Errorf("class %q: want one of %v", s.Class, Classes())
}

// Truth is what was injected. Times are ns.
type Truth struct {
	Class          collective.Class     `json:"class"`
	Also           collective.Class     `json:"also,omitempty"` // a flow into a rank's host slows one flow at its port and others by pauses: either class is right
	Algorithm      collective.Algorithm `json:"algorithm"`
	Seed           uint64               `json:"seed"`
	Flows          []string             `json:"flows"`   // source->destination; each one is a right answer
	Objects        []string             `json:"objects"` // ports or hosts; for a deadlock all must be named, otherwise any one
	Ranks          []int                `json:"ranks"`   // for a straggler or hang
	MakespanNanos  int64                `json:"makespan_ns"`
	WithoutNanos   int64                `json:"without_ns"` // the makespan of the same simulation without the culprit
	CostNanos      int64                `json:"cost_ns"`    // the difference; 0 if it never ends
	TelemetryBytes int64                `json:"telemetry_bytes"`
}

// pair is a flow's ends, as hosts.
type pair struct{ from, to int }

func (p pair) String() string { return nodeName(p.from) + "->" + nodeName(p.to) }

// background is a background flow.
type background struct {
	pair
	path    []routing.Channel
	bytes   int64
	atNanos int64
	port    int // its source port
}

// slowing reduces the speed of a link or a NIC.
type slowing struct {
	channel routing.Channel
	host    int // for a NIC, otherwise -1
	share   float64
}

// delay is extra time that a rank spends before steps from to to.
type delay struct {
	rank, from, to int
	nanos          int64
}

// Incident is a fully determined Spec.
type Incident struct {
	Spec    Spec
	fabric  *fabric
	order   []int // ranks in the order of the communicator
	prog    program
	spine   map[pair]int // for the collective's flows between leaves, if not the usual one
	noise   []background // decoys that share nothing with the collective
	flows   []background // culprits
	slow    *slowing
	late    *delay
	hang    *delay
	control bool // congestion control is on
	truth   Truth
}

// New draws a random incident.
func New(spec Spec) (*Incident, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	f, err := newFabric(spec.shape())
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(spec.Seed, 17))
	in := &Incident{Spec: spec, fabric: f, order: random.Perm(f.ranks), spine: map[pair]int{}, control: random.IntN(2) == 0,
		truth: Truth{Class: spec.Class, Algorithm: spec.Algorithm, Seed: spec.Seed, Flows: []string{}, Objects: []string{}, Ranks: []int{}}}
	in.prog = newProgram(spec.Algorithm, in.order, spec.ChunkBytes)
	in.decoys(random)
	if err := in.inject(random); err != nil {
		return nil, err
	}
	for i := range in.noise {
		in.noise[i].port = 10001 + i
	}
	for i := range in.flows {
		in.flows[i].port = 10101 + i
	}
	return in, nil
}

// pathOf returns the path of the collective's flow between two hosts. By default it is free
// of collisions: the spine depends on the sender's and the receiver's slot in their leaves.
func (in *Incident) pathOf(p pair) []routing.Channel {
	spine, moved := in.spine[p]
	if !moved {
		spine = usualSpine(p)
	}
	return in.fabric.path(p.from, p.to, spine)
}

func usualSpine(p pair) int {
	return p.from%hostsPerLeaf%ranksPerLeaf*ranksPerLeaf + p.to%hostsPerLeaf%ranksPerLeaf
}

// without returns the incident without its culprit.
func (in *Incident) without() *Incident {
	w := *in
	w.flows, w.slow, w.late, w.hang, w.spine = nil, nil, nil, nil, map[pair]int{}
	return &w
}

// stepNanos is the approximate duration of a step with one chunk alone.
func (in *Incident) stepNanos() int64 { return in.Spec.ChunkBytes * 8 * 1e9 / bitsPerSecond }

// lengthNanos is the approximate duration of the collective.
func (in *Incident) lengthNanos() (sum int64) {
	for s := range in.prog[0] {
		var longest int64
		for _, steps := range in.prog {
			longest = max(longest, steps[s].bytes)
		}
		sum += longest * 8 * 1e9 / bitsPerSecond
	}
	return sum
}
