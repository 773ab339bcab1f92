package incident

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/collective/network"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// machine is RoCE at 25 Gb/s with PFC on separate input buffers, store and forward, and
// output queues; DCQCN has its paper's values scaled to the shorter steps.
func machine(control bool) packet.Config {
	c := packet.DefaultConfig()
	c.LinkSpeed, c.CableNanos = bitsPerSecond/8e9, cableNanos
	c.SwitchNanos, c.StagesIncluded, c.StoreAndForward, c.OutputQueued = 300, true, true, true
	c.PacketBytes, c.HeaderBytes, c.ControlBytes = packetBytes, headerBytes, 64
	c.DMASpeed, c.ActivePuts, c.NICBufferBytes = nicSpeed, 64, packetBytes+headerBytes
	c.FlowControl, c.BufferBytes, c.XoffBytes, c.XonBytes, c.PauseNanos = packet.PFC, 512<<10, 100<<10, 90<<10, 0
	c.Rate.Enabled = control
	c.Rate.KminBytes, c.Rate.KmaxBytes, c.Rate.Pmax = 40<<10, 160<<10, 0.2
	c.Rate.AdditiveGbps, c.Rate.HyperGbps = 0.4, 1
	return c
}

const (
	packetBytes = 4096
	headerBytes = 64
	nicSpeed    = 8 // GB/s: never the bottleneck
	epochNanos  = 500_000
	tickNanos   = 50_000
	jitterNanos = 2_000 // of the compute time between steps
	startNanos  = 1_000 // of the collective: an end of 0 would mean not ended
)

// Result is what one simulation recorded.
type Result struct {
	Run            collective.Run
	Finished       bool
	MakespanNanos  int64 // to the last end of a step
	TelemetryBytes int64 // polls and reports
	NoticeBytes    int64 // notifications between hosts
	Polls          int
}

// rankState is a rank's position in its program.
type rankState struct {
	step    int  // index of the next or current step
	waiting bool // its timer is running, or it is sending
	record  int  // index in Run.Steps of what it sends
}

// runner runs one simulation.
type runner struct {
	in          *Incident
	sim         *packet.Sim
	out         Result
	ranks       []rankState
	arrived     [][]bool                  // by rank and step: its data has arrived
	owner       map[packet.TransferID]int // rank, or ^index of a background flow
	flows       []background
	agents      []*detect.Agent
	registers   *registers
	outstanding map[packet.TransferID]*fifo
	jitter      *rand.Rand
	done        int  // ranks that have finished
	all         bool // switches also report outputs without queues
}

// fifo holds the send times of the packets of a transfer in progress.
type fifo struct {
	at   []packet.Time
	head int
}

// Timers are numbered by kind.
const (
	timerRank = iota << 20
	timerFlow
	timerTick
	timerStart
)

// limitNanos is the time limit of a run that does not finish.
func (in *Incident) limitNanos() int64 { return 6*in.lengthNanos() + 2_000_000 }

// Simulate runs the incident with a given detection.
func (in *Incident) Simulate(cfg detect.Config) (Result, error) {
	sim, err := packet.New(in.fabric.graph, machine(in.control))
	if err != nil {
		return Result{}, err
	}
	r := &runner{in: in, sim: sim, all: cfg.Mode != detect.StepAware, ranks: make([]rankState, in.fabric.ranks), owner: map[packet.TransferID]int{},
		flows: append(append([]background(nil), in.noise...), in.flows...), jitter: rand.New(rand.NewPCG(in.Spec.Seed, 23)),
		outstanding: map[packet.TransferID]*fifo{}, arrived: make([][]bool, in.fabric.ranks)}
	r.out.Run = in.header()
	for rank := range in.fabric.ranks {
		r.arrived[rank] = make([]bool, len(in.prog[rank]))
		r.agents = append(r.agents, detect.New(cfg))
	}
	r.registers = newRegisters(r)
	r.registers.hold = cfg.HoldNanos
	if cfg.Mode != detect.Off {
		sim.Watch(packet.Watch{Sent: r.sent, Queued: r.registers.queued, Received: r.received, Paused: r.registers.paused})
	}
	if err := r.begin(); err != nil {
		return Result{}, err
	}
	if err := r.play(cfg.Mode != detect.Off); err != nil {
		return Result{}, err
	}
	r.finish()
	return r.out, nil
}

// header is what is known before the run begins.
func (in *Incident) header() collective.Run {
	all := collective.Communicator{Name: "0", Members: in.order, Operation: operation(in.Spec.Algorithm),
		Algorithm: in.Spec.Algorithm, Steps: len(in.prog[0])}
	run := collective.Run{Fabric: in.fabric.record, Communicators: []collective.Communicator{all}}
	if in.Spec.Algorithm == collective.Tree {
		run.Communicators[0].Algorithm = collective.Custom // one tree by rounds, with waits in the records
	}
	for rank := range in.fabric.ranks {
		run.Ranks = append(run.Ranks, collective.Rank{Node: nodeName(rankHost(rank)), Host: rankHost(rank)})
	}
	run.Paths = in.paths()
	return run
}

// paths are the paths of the collective's flows: hosts trace each flow once.
func (in *Incident) paths() (out []collective.Path) {
	known := map[pair]bool{}
	for _, v := range in.victims(func(victim) bool { return true }) {
		if known[v.pair] {
			continue
		}
		known[v.pair] = true
		p := collective.Path{Source: v.from, Destination: v.to}
		for _, ch := range in.pathOf(v.pair) {
			node, port := in.fabric.port(ch)
			p.Ports = append(p.Ports, network.Port{Node: node, Port: port})
		}
		out = append(out, p)
	}
	return out
}

func (r *runner) begin() error {
	if s := r.in.slow; s != nil && s.host >= 0 {
		if err := r.sim.SlowNIC(topology.DeviceID(s.host), s.share*bitsPerSecond/8e9); err != nil {
			return err
		}
	} else if s != nil {
		if err := r.sim.Inject(packet.Fault{At: 0, Link: r.in.fabric.channels.Link(s.channel), Share: s.share}); err != nil {
			return err
		}
	}
	for i, f := range r.flows {
		if err := r.sim.Timer(packet.Nanos(float64(f.atNanos)), int32(timerFlow+i)); err != nil {
			return err
		}
	}
	return r.sim.Timer(startNanos*packet.Nanosecond, timerStart)
}

func (r *runner) play(watched bool) error {
	if watched {
		if err := r.sim.Timer(tickNanos*packet.Nanosecond, timerTick); err != nil {
			return err
		}
	}
	limit := packet.Nanos(float64(r.in.limitNanos()))
	for r.done < r.in.fabric.ranks {
		notice, more := r.sim.Next(limit)
		if !more {
			return nil
		}
		if err := r.handle(notice); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) handle(n packet.Notice) error {
	switch {
	case n.Kind == packet.Timed && n.Timer >= timerStart:
		return r.advanceAll()
	case n.Kind == packet.Timed && n.Timer >= timerTick:
		r.tick()
		return r.sim.Timer(tickNanos*packet.Nanosecond, timerTick)
	case n.Kind == packet.Timed && n.Timer >= timerFlow:
		return r.startFlow(int(n.Timer - timerFlow))
	case n.Kind == packet.Timed:
		return r.startStep(int(n.Timer))
	case n.Kind == packet.Failed:
		return fmt.Errorf("simulated collective: transfer %d lost a packet too often", n.Transfer)
	case n.Kind == packet.Arrived:
		return r.arrive(n.Transfer)
	}
	return nil
}

func (r *runner) nanos() int64 { return int64(r.sim.Now().Nanoseconds()) }

// advance makes a rank compute before its next step, once all inputs of the step are there.
func (r *runner) advance(rank int) error {
	state := &r.ranks[rank]
	if state.waiting || state.step >= len(r.in.prog[rank]) {
		return nil
	}
	s := r.in.prog[rank][state.step]
	if s.awaitsRank != collective.None && s.awaitsStep > 0 && !r.arrived[s.awaitsRank][s.awaitsStep-1] {
		return nil
	}
	number := state.step + 1
	if h := r.in.hang; h != nil && h.rank == rank && number >= h.from {
		return nil
	}
	state.waiting = true
	if s.peer == collective.None {
		return r.startStep(rank)
	}
	wait := r.jitter.Int64N(jitterNanos)
	if d := r.in.late; d != nil && d.rank == rank && number >= d.from && number <= d.to {
		wait += d.nanos
	}
	return r.sim.Timer(packet.Nanos(float64(wait)), int32(timerRank+rank))
}

func (r *runner) startStep(rank int) error {
	state := &r.ranks[rank]
	s := r.in.prog[rank][state.step]
	record := collective.StepRecord{Step: int32(state.step + 1), Rank: int32(rank), Peer: int32(s.peer), AwaitsRank: int32(s.awaitsRank), AwaitsStep: int32(s.awaitsStep),
		Bytes: s.bytes, BeginNanos: r.nanos()}
	if s.awaitsRank == collective.None {
		record.AwaitsStep = collective.None
	}
	state.record = len(r.out.Run.Steps)
	if s.peer == collective.None {
		record.EndNanos = r.nanos()
		r.out.Run.Steps = append(r.out.Run.Steps, record)
		return r.ended(rank)
	}
	p := pair{rankHost(rank), rankHost(s.peer)}
	path := r.in.pathOf(p)
	record.AloneNanos = r.aloneNanos(len(path), s.bytes)
	r.out.Run.Steps = append(r.out.Run.Steps, record)
	r.agents[rank].Begin(r.nanos(), state.step+1, record.AloneNanos)
	return r.post(p, path, s.bytes, rank)
}

func (r *runner) post(p pair, path []routing.Channel, bytes int64, owner int) error {
	id, err := r.sim.PostAlong(packet.Request{From: topology.DeviceID(p.from), To: topology.DeviceID(p.to), Bytes: bytes},
		packet.Paths{Data: path, Control: r.in.fabric.path(p.to, p.from, usualSpine(pair{p.to, p.from}))})
	if err != nil {
		return err
	}
	r.owner[id] = owner
	return nil
}

func (r *runner) startFlow(i int) error {
	f := &r.flows[i]
	r.out.Run.Flows = append(r.out.Run.Flows, collective.Flow{Source: f.from, Destination: f.to, SourcePort: f.port, DestinationPort: backgroundPort, Bytes: f.bytes, BeginNanos: r.nanos()})
	return r.post(f.pair, f.path, f.bytes, ^i)
}

// arrive is called when all data of a transfer has reached the receiver.
func (r *runner) arrive(id packet.TransferID) error {
	delete(r.outstanding, id)
	owner := r.owner[id]
	if owner < 0 {
		f := &r.flows[^owner]
		for i := range r.out.Run.Flows {
			if r.out.Run.Flows[i].SourcePort == f.port {
				r.out.Run.Flows[i].EndNanos = r.nanos()
			}
		}
		return nil
	}
	r.out.Run.Steps[r.ranks[owner].record].EndNanos = r.nanos()
	r.out.MakespanNanos = r.nanos()
	return r.ended(owner)
}

// ended advances a rank, and those that await its data.
func (r *runner) ended(rank int) error {
	state := &r.ranks[rank]
	step := state.step
	r.arrived[rank][step] = true
	state.step, state.waiting = step+1, false
	if state.step == len(r.in.prog[rank]) {
		r.done++
	}
	r.notify(rank, step)
	return r.advanceAll()
}

func (r *runner) advanceAll() error {
	for rank := range r.in.fabric.ranks {
		if err := r.advance(rank); err != nil {
			return err
		}
	}
	return nil
}

// notify informs the rank whose data is still missing that it is waited for.
func (r *runner) notify(rank, step int) {
	missing, at := collective.None, 0
	if step+1 < len(r.in.prog[rank]) {
		next := r.in.prog[rank][step+1]
		if next.awaitsRank != collective.None && !r.arrived[next.awaitsRank][next.awaitsStep-1] {
			missing, at = next.awaitsRank, next.awaitsStep
		}
	}
	if r.agents[rank].End(missing != collective.None) {
		r.agents[missing].Waited(at)
	}
}

// aloneNanos is how long a transfer takes on an idle fabric.
func (r *runner) aloneNanos(hops int, bytes int64) int64 {
	packets := (bytes + packetBytes - 1) / packetBytes
	wire := float64(bytes+packets*headerBytes) * 8e9 / bitsPerSecond
	last := float64(min(bytes, packetBytes)+headerBytes) * 8e9 / bitsPerSecond
	dma := float64(min(bytes, packetBytes)) / nicSpeed
	return int64(wire+float64(hops-1)*(last+300)+float64(hops)*cableNanos+2*dma) + 1
}

// finish completes the result.
func (r *runner) finish() {
	r.out.Finished = r.done == r.in.fabric.ranks
	for _, a := range r.agents {
		r.out.TelemetryBytes += a.Spent()
		r.out.NoticeBytes += a.Notices() * detect.PacketBytes
	}
}

// Truth simulates the incident without its culprit, and adds the difference.
func (in *Incident) Truth(with Result) (Truth, error) {
	without, err := in.without().Simulate(detect.Config{Mode: detect.Off})
	if err != nil {
		return Truth{}, err
	}
	t := in.truth
	t.MakespanNanos, t.WithoutNanos, t.TelemetryBytes = with.MakespanNanos, without.MakespanNanos, with.TelemetryBytes
	if with.Finished {
		t.CostNanos = max(0, with.MakespanNanos-without.MakespanNanos)
	} else {
		t.MakespanNanos = 0
	}
	return t, nil
}
