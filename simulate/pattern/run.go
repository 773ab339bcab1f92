package pattern

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// member is a process in a run.
type member struct {
	*Process
	next     Source
	stop     func()
	number   int32
	rank     int // among those that take part in barriers
	records  []int32
	wait     wait
	arrived  map[int]int                 // by tag: puts that arrived and were not polled yet
	handles  map[int][]packet.TransferID // by tag: posted and not yet completed by a call
	open     int                         // number of incomplete puts and gets
	timers   int                         // expired and not yet waited for
	barriers int                         // number entered so far
	came     [64]int                     // barrier puts that arrived, by round
}

// wait is what a process waits for.
type wait struct {
	kind   waitKind
	tag    int               // forTag
	handle packet.TransferID // forHandle
	round  int               // forRound
}

type waitKind uint8

const (
	forNothing waitKind = iota
	forTag
	forHandle
	forAll
	forTimer
	forRound
	forOthers
	forEver // its program is over
)

// posted is a transfer as seen by the programs.
type posted struct {
	owner, target int32 // members
	record        int32 // or none for a barrier's put
	tag           int   // or the barrier's round
	class         int
	complete      bool
}

const none = int32(-1)

// removed is the handle of a removed transfer.
const removed = packet.TransferID(-1)

// run is one program in one simulation.
type run struct {
	model   *Model
	sim     *packet.Sim
	nodes   []topology.DeviceID
	members []*member
	byID    map[int]*member
	meeting []*member // members that take part in barriers, by rank
	inside  int       // number of entries into ideal barriers
	records []Record
	posted  []posted
	failed  int
	without Without
}

func newRun(g *topology.Graph, m *Model, p *Program) (*run, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	r := &run{model: m, nodes: g.Hosts(), byID: map[int]*member{}}
	if err := p.validate(len(r.nodes)); err != nil {
		return nil, err
	}
	var err error
	if r.sim, err = packet.New(g, m.Packet); err != nil {
		return nil, err
	}
	for i := range p.Processes {
		q := &member{Process: &p.Processes[i], number: int32(i), arrived: map[int]int{}, handles: map[int][]packet.TransferID{}}
		q.next, q.stop = q.Start()
		r.members = append(r.members, q)
		r.byID[q.ID] = q
		if q.Meets {
			q.rank = len(r.meeting)
			r.meeting = append(r.meeting, q)
		}
	}
	return r, nil
}

// close stops the coroutines of unfinished programs.
func (r *run) close() {
	for _, m := range r.members {
		if m.stop != nil {
			m.stop()
		}
	}
}

// execute runs the program to its end.
func (r *run) execute(every packet.Time, sample func(*packet.Sim)) error {
	for _, m := range r.members {
		if err := r.advance(m); err != nil {
			return err
		}
	}
	due := packet.Never
	if sample != nil {
		due = every
	}
	sampled := packet.Time(0)
	for !r.sim.Idle() {
		n, ok := r.sim.Next(due)
		if ok {
			if err := r.advance(r.recordNotice(n)); err != nil {
				return err
			}
		} else if sample != nil {
			sample(r.sim)
			sampled = r.sim.Now()
			due += every
		}
	}
	if sample != nil && sampled < r.sim.Now() {
		sample(r.sim)
	}
	return r.deadlockError()
}

// recordNotice records a notice, and returns the process that it may wake.
func (r *run) recordNotice(n packet.Notice) *member {
	if n.Kind == packet.Timed {
		if i := int(n.Timer) - len(r.members); i >= 0 {
			return r.members[i]
		}
		m := r.members[n.Timer]
		m.timers++
		return m
	}
	t := &r.posted[n.Transfer]
	if n.Kind == packet.Arrived {
		m := r.members[t.target]
		if t.record == none {
			m.came[t.tag]++
		} else {
			m.arrived[t.tag]++
		}
		return m
	}
	t.complete = true
	if n.Kind == packet.Failed {
		r.failed++
	}
	m := r.members[t.owner]
	if t.record != none {
		m.open--
	}
	return m
}

// advance runs a process until it has to wait.
func (r *run) advance(m *member) error {
	for m.wait.kind != forEver {
		over, err := r.satisfied(m)
		if err != nil || !over {
			return err
		}
		if m.wait.kind != forNothing {
			last := &r.records[m.records[len(m.records)-1]]
			last.Arrive, last.Complete = r.sim.Now(), r.sim.Now()
			m.wait = wait{}
		}
		c, ok := m.next(r.sim.Now())
		if !ok {
			m.wait.kind = forEver
			return nil
		}
		if err := r.begin(m, c); err != nil {
			return fmt.Errorf("process %d, %s (call %d): %w", m.ID, c.Op, len(m.records)-1, err)
		}
	}
	return nil
}

// begin makes a call, and sets m.wait to what it must wait for.
func (r *run) begin(m *member, c Call) error {
	m.records = append(m.records, int32(len(r.records)))
	r.records = append(r.records, Record{Process: m.ID, Number: len(m.records) - 1, Call: c, Start: r.sim.Now(), Arrive: packet.Never, Complete: packet.Never, transfer: -1})
	switch c.Op {
	case Put, Get:
		return r.post(m, c)
	case Poll:
		m.wait = wait{kind: forTag, tag: c.Tag}
	case Complete:
		return r.awaitHandle(m, c)
	case Compute:
		m.wait = wait{kind: forTimer}
		return r.sim.Timer(packet.Nanos(min(float64(c.Bytes), 8e12)), m.number)
	case Barrier:
		if !m.Meets {
			return errors.New("the process is not among those that meet at barriers")
		}
		return r.enter(m)
	}
	return nil
}

func (r *run) awaitHandle(m *member, c Call) error {
	switch {
	case c.Handle > 0 && int(c.Handle) < len(m.records) && r.records[m.records[c.Handle-1]].Op <= Get:
		m.wait = wait{kind: forHandle, handle: r.records[m.records[c.Handle-1]].transfer}
	case c.Handle != 0:
		return fmt.Errorf("handle %d is not a put or get of this process", c.Handle)
	case c.Tag == AnyTag:
		m.wait = wait{kind: forAll}
	case len(m.handles[c.Tag]) == 0:
		return fmt.Errorf("no put or get with tag %d was posted before", c.Tag)
	default:
		m.wait = wait{kind: forHandle, handle: m.handles[c.Tag][0]}
		m.handles[c.Tag] = m.handles[c.Tag][1:]
	}
	return nil
}

func (r *run) post(m *member, c Call) error {
	peer := r.byID[c.Peer]
	if peer == nil {
		return fmt.Errorf("no process %d", c.Peer)
	}
	verb := packet.Put
	if c.Op == Get {
		verb = packet.Get
	}
	record := m.records[len(m.records)-1]
	if r.without.matches(m.Process, peer.Process) {
		return r.completeAtOnce(m, peer, c, &r.records[record])
	}
	id, err := r.send(m, peer, verb, c.Bytes, posted{record: record, tag: c.Tag, class: c.Class})
	if err != nil {
		return err
	}
	r.records[record].transfer = id
	m.handles[c.Tag] = append(m.handles[c.Tag], id)
	m.open++
	return nil
}

// completeAtOnce has the effects of a removed put or get, without delay.
func (r *run) completeAtOnce(m, peer *member, c Call, rec *Record) error {
	rec.Arrive, rec.Complete = rec.Start, rec.Start
	m.handles[c.Tag] = append(m.handles[c.Tag], removed)
	if c.Op == Put {
		peer.arrived[c.Tag]++
		if peer != m {
			return r.sim.Timer(0, r.wakeTimer(peer))
		}
	}
	return nil
}

// wakeTimer is the number of a timer that only makes a process check again.
func (r *run) wakeTimer(m *member) int32 { return int32(len(r.members)) + m.number }

func (r *run) send(m, peer *member, verb packet.Verb, bytes int64, p posted) (packet.TransferID, error) {
	p.owner, p.target = m.number, peer.number
	id, err := r.sim.Post(packet.Request{Verb: verb, From: r.nodes[m.Node], To: r.nodes[peer.Node], Bytes: bytes, Class: p.class})
	if err == nil {
		r.posted = append(r.posted, p)
	}
	return id, err
}

// satisfied reports whether what a process waits for has happened, and consumes it.
func (r *run) satisfied(m *member) (bool, error) {
	switch w := &m.wait; w.kind {
	case forTag:
		if m.arrived[w.tag] == 0 {
			return false, nil
		}
		m.arrived[w.tag]--
	case forHandle:
		return w.handle == removed || r.posted[w.handle].complete, nil
	case forAll:
		return m.open == 0, nil
	case forTimer:
		if m.timers == 0 {
			return false, nil
		}
		m.timers--
	case forRound:
		return r.rounds(m)
	case forOthers:
		return r.inside >= len(r.meeting)*(m.barriers), nil
	}
	return true, nil
}

// enter enters a barrier.
func (r *run) enter(m *member) error {
	m.barriers++
	if r.model.Barrier == Ideal {
		m.wait = wait{kind: forOthers}
		r.inside++
		if r.inside == len(r.meeting)*m.barriers {
			for _, other := range r.meeting {
				if err := r.sim.Timer(0, r.wakeTimer(other)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	m.wait = wait{kind: forRound}
	return r.signal(m)
}

// rounds advances a dissemination barrier as far as others have arrived; in round k a
// process hears from the one 2^k before it.
func (r *run) rounds(m *member) (bool, error) {
	last := bits.Len(uint(len(r.meeting) - 1))
	for m.wait.round < last {
		if m.came[m.wait.round] < m.barriers {
			return false, nil
		}
		m.wait.round++
		if err := r.signal(m); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *run) signal(m *member) error {
	if m.wait.round >= bits.Len(uint(len(r.meeting)-1)) {
		return nil
	}
	peer := r.meeting[(m.rank+1<<m.wait.round)%len(r.meeting)]
	_, err := r.send(m, peer, packet.Put, r.model.BarrierBytes, posted{record: none, tag: m.wait.round})
	return err
}

// tagText is " of tag N" if the call has a single tag.
func (c Call) tagText() string {
	if c.Op != Poll && c.Op != Complete || c.Handle != 0 || c.Tag == AnyTag {
		return ""
	}
	return fmt.Sprintf(" of tag %d", c.Tag)
}

// deadlockError names the processes that will never end.
func (r *run) deadlockError() error {
	var lines []string
	for _, m := range r.members {
		if m.wait.kind != forEver {
			c := r.records[m.records[len(m.records)-1]]
			lines = append(lines, fmt.Sprintf("process %d has been waiting since %.0f ns at call %d, %s%s", m.ID, c.Start.Nanoseconds(), c.Number, c.Op, c.tagText()))
		}
	}
	if len(lines) == 0 && r.sim.Underway() == 0 {
		return nil
	}
	why := "no events are left"
	switch {
	case r.failed > 0:
		why = fmt.Sprintf("%d transfers failed after all retries", r.failed)
	case r.sim.Underway() > 0:
		why = fmt.Sprintf("%d transfers wait for each other's buffers: a deadlock; give the model more virtual_channels or buffer_bytes", r.sim.Underway())
	}
	if len(lines) > 5 {
		lines = append(lines[:5], fmt.Sprintf("and %d more", len(lines)-5))
	}
	if len(lines) == 0 {
		lines = []string{"all processes have ended"}
	}
	return fmt.Errorf("the program does not end: %s; %s", why, strings.Join(lines, "; "))
}
