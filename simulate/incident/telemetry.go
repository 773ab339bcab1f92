package incident

import (
	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/routing"
)

// Port numbers of the flows.
const (
	collectivePort = 10000
	backgroundPort = 100
)

// epoch is a switch's counts for one output in one epoch.
type epoch struct {
	number                    int64
	packets, queueSum, paused int64
	flows                     []collective.FlowReport
	from                      map[routing.Channel]int64 // bytes by ingress channel
}

// output is the telemetry of one output: the current epoch and the previous one.
type output struct {
	now, last epoch
	pausedNow bool
	reported  int64 // time of the last report; 0: none
	followed  int64 // time of the last signal through it; 0: none
	signaled  bool  // the last report was due to a signal
}

// registers is the telemetry of all switches, as kept by Hawkeye's switches: two epochs
// per output, with the flows of each.
type registers struct {
	r       *runner
	outputs []output
	records int
	hold    int64
	sent    map[packet.TransferID]int64 // payload that has reached its first switch
}

func newRegisters(r *runner) *registers {
	return &registers{r: r, outputs: make([]output, r.in.fabric.channels.Len()), sent: map[packet.TransferID]int64{}}
}

// roll brings an output's epochs up to date.
func (g *registers) roll(o *output) {
	number := g.r.nanos() / epochNanos
	switch {
	case o.now.number == number:
		return
	case o.now.number == number-1:
		o.last = o.now
	default:
		o.last = epoch{number: number - 1}
	}
	o.now = epoch{number: number}
}

func (g *registers) queued(q packet.Queued) {
	o := &g.outputs[q.To]
	g.roll(o)
	ahead := q.Ahead / (packetBytes + headerBytes)
	e := &o.now
	flow := e.flow(g.r.key(q.Transfer))
	e.packets++
	flow.Packets++
	if q.Paused {
		e.paused++
		flow.Paused++
	}
	e.queueSum += ahead
	flow.QueueSum += ahead
	if from, _ := g.r.in.fabric.channels.Ends(q.From); !g.r.in.fabric.graph.IsSwitch(from) {
		g.sent[q.Transfer] += int64(q.Bytes)
	}
	flow.MaxSeq = max(flow.MaxSeq, g.sent[q.Transfer])
	if flow.Packets == 1 {
		flow.MinSeq = flow.MaxSeq - int64(q.Bytes)
	}
	if e.from == nil {
		e.from = map[routing.Channel]int64{}
	}
	e.from[q.From] += int64(q.Bytes)
}

// key returns the identifying fields of a transfer's flow.
func (r *runner) key(id packet.TransferID) collective.FlowReport {
	owner := r.owner[id]
	if owner < 0 {
		f := &r.flows[^owner]
		return collective.FlowReport{Source: f.from, Destination: f.to, SourcePort: f.port, DestinationPort: backgroundPort}
	}
	s := r.out.Run.Steps[r.ranks[owner].record]
	return collective.FlowReport{Source: rankHost(owner), Destination: rankHost(int(s.Peer)), SourcePort: collectivePort, DestinationPort: collectivePort, Collective: true}
}

func (e *epoch) flow(k collective.FlowReport) *collective.FlowReport {
	for i := range e.flows {
		f := &e.flows[i]
		if f.Source == k.Source && f.Destination == k.Destination && f.SourcePort == k.SourcePort {
			return f
		}
	}
	e.flows = append(e.flows, k)
	return &e.flows[len(e.flows)-1]
}

func (g *registers) paused(ch routing.Channel, paused bool) {
	g.outputs[ch].pausedNow = paused
	node, port := g.r.in.fabric.port(ch)
	g.r.out.Run.Pauses = append(g.r.out.Run.Pauses, collective.Pause{TimeNanos: g.r.nanos(), Node: node, Port: port, Resume: !paused})
}

// poll reports the outputs on the path of a rank's flow, and follows pauses to their
// origin. It returns the bytes of the reports.
func (g *registers) poll(rank int) (bytes int64) {
	g.r.out.Polls++
	bytes = detect.PacketBytes
	s := g.r.in.prog[rank][g.r.ranks[rank].step]
	visited := map[routing.Channel]bool{}
	for _, ch := range g.r.in.pathOf(pair{rankHost(rank), rankHost(s.peer)})[1:] {
		g.records++
		bytes += g.record(g.report(ch, routing.NoChannel))
		if g.pausedAt(ch) {
			bytes += g.signal(ch, visited)
		}
	}
	return bytes
}

// record is the size of a switch's record with some bytes of reports. An empty record
// is not sent, except in rigid polling.
func (g *registers) record(reports int64) int64 {
	if reports == 0 && !g.r.all {
		return 0
	}
	return detect.RecordBytes + reports
}

func (g *registers) pausedAt(ch routing.Channel) bool {
	o := &g.outputs[ch]
	g.roll(o)
	return o.pausedNow || o.now.paused > 0 || o.last.paused > 0
}

// signal follows a paused output to the switch that paused it. That switch reports the
// outputs that packets from there wait for, and forwards the signal through those that
// are paused. An output is followed at most once per hold time.
func (g *registers) signal(ch routing.Channel, visited map[routing.Channel]bool) (bytes int64) {
	_, to := g.r.in.fabric.channels.Ends(ch)
	if visited[ch] || !g.r.in.fabric.graph.IsSwitch(to) {
		return 0
	}
	visited[ch] = true
	if o := &g.outputs[ch]; !g.r.all {
		if o.followed > 0 && g.r.nanos() < o.followed+g.hold {
			return 0
		}
		o.followed = g.r.nanos()
	}
	g.records++
	reports := int64(0)
	var further []routing.Channel
	for _, next := range g.r.in.fabric.channels.Out(to) {
		o := &g.outputs[next]
		g.roll(o)
		if o.now.from[ch]+o.last.from[ch] == 0 {
			continue
		}
		reports += g.report(next, ch)
		if g.pausedAt(next) {
			further = append(further, next)
		}
	}
	bytes = detect.PacketBytes + g.record(reports)
	for _, next := range further {
		bytes += g.signal(next, visited)
	}
	return bytes
}

// report writes an output's newest epoch in which packets waited; in rigid polling,
// both epochs. For a signal, in is the channel it arrived by.
func (g *registers) report(ch, in routing.Channel) (bytes int64) {
	o := &g.outputs[ch]
	g.roll(o)
	if by := in != routing.NoChannel; !g.r.all {
		if o.reported > 0 && (o.signaled || !by) && g.r.nanos() < o.reported+g.hold {
			return 0
		}
		o.reported, o.signaled = g.r.nanos(), by
	}
	node, port := g.r.in.fabric.port(ch)
	for _, e := range []*epoch{&o.now, &o.last} {
		if !g.r.all && (e.packets == 0 || e.queueSum < e.packets) && e.paused == 0 {
			continue // nothing waited here
		}
		report := collective.PortReport{Record: g.records, TimeNanos: g.r.nanos(), EpochNanos: e.number * epochNanos, LastNanos: min((e.number+1)*epochNanos, g.r.nanos()),
			Switch: node, Port: port, Packets: e.packets, QueueSum: e.queueSum, Paused: e.paused, Flows: append([]collective.FlowReport(nil), e.flows...)}
		if in != routing.NoChannel {
			report.Signal, report.In, report.MeterBytes = true, g.r.in.fabric.inPort(in), e.from[in]
		}
		g.r.out.Run.Telemetry = append(g.r.out.Run.Telemetry, report)
		if bytes += detect.PortBytes + detect.FlowBytes*int64(len(e.flows)); !g.r.all {
			break
		}
	}
	return bytes
}

// sent and received measure the round trips of the collective's packets: the time to
// the receiver, plus a return without queues.
func (r *runner) sent(id packet.TransferID, _ int32) {
	if r.owner[id] < 0 {
		return
	}
	f := r.outstanding[id]
	if f == nil {
		f = &fifo{}
		r.outstanding[id] = f
	}
	f.at = append(f.at, r.sim.Now())
}

const backNanos = 5 * cableNanos

func (r *runner) received(id packet.TransferID, _ int32) {
	owner := r.owner[id]
	f := r.outstanding[id]
	if owner < 0 || f == nil || f.head >= len(f.at) {
		return
	}
	took := r.sim.Now() - f.at[f.head]
	f.head++
	r.observe(owner, int64(took.Nanoseconds())+backNanos)
}

func (r *runner) observe(rank int, roundTrip int64) {
	if r.agents[rank].Observe(r.nanos(), roundTrip) {
		r.agents[rank].Spend(r.registers.poll(rank))
	}
}

// tick checks the oldest packet of each transfer in progress.
func (r *runner) tick() {
	for rank := range r.in.fabric.ranks {
		if state := r.ranks[rank]; state.waiting && state.record < len(r.out.Run.Steps) {
			r.observe(rank, r.oldest(rank))
		}
	}
}

func (r *runner) oldest(rank int) int64 {
	var longest packet.Time
	for id, f := range r.outstanding {
		if r.owner[id] == rank && f.head < len(f.at) {
			longest = max(longest, r.sim.Now()-f.at[f.head])
		}
	}
	return int64(longest.Nanoseconds())
}
