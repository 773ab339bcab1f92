// Package clockcheck checks the clocks of agents against the broker's. Its input are
// batches of counters with the two times that Kafka records have: when the agent sent
// the record, by the agent's clock, and when the broker appended it, by the broker's.
// Its output are the readings to use, shifted if so configured, and the offset of each
// agent's clock. It reads no clock and decides only by what is in Kafka, so that
// replaying the log gives the same decisions. It does not check the clocks of single
// devices behind an agent: ingest/window does.
package clockcheck

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Config of the check.
type Config struct {
	// How far the clock of an agent may be off the brokers', either way; beyond that, its readings are dropped and the agent is named. 0: an interval, and 30s at least.
	MaxClockOffset time.Duration `yaml:"max_clock_offset"`
	// Shift the readings of an agent whose clock is off by a steady offset, instead of dropping them.
	CorrectClocks bool `yaml:"correct_clocks"`
}

// Validate reports all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.MaxClockOffset >= 0 && c.MaxClockOffset <= 24*time.Hour, "max_clock_offset", "%v: want 0s to 24h", c.MaxClockOffset)
	return f.Err()
}

// minOffset is the minimum tolerance, for inaccurate agents' clocks and slow
// paths to the broker.
const minOffset = 30 * time.Second

// Tolerance returns how far a clock may be off, given the length of intervals.
func (c *Config) Tolerance(interval time.Duration) time.Duration {
	if c.MaxClockOffset > 0 {
		return c.MaxClockOffset
	}
	return max(interval, minOffset)
}

// Reason says why rows were rejected.
type Reason uint8

// Reasons. All of them count rows.
const (
	accepted Reason = iota
	Ahead           // the sender's clock, or the reading's time, is later than the broker's
	Behind          // the sender's clock is earlier than the broker's
	Unsteady        // the sender's clock is off, and not steadily enough to be corrected
	numReasons
)

var reasonNames = [numReasons]string{Ahead: "clock_ahead", Behind: "clock_behind", Unsteady: "clock_unsteady"}

// Reasons lists all reasons.
func Reasons() []Reason { return []Reason{Ahead, Behind, Unsteady} }

// String returns the reason as a metric label.
func (r Reason) String() string { return reasonNames[r] }

// Times are the times of a Kafka record, in nanoseconds since 1970.
type Times struct {
	SentNanos     int64 // the sender's clock; 0 if the sender does not say
	AppendedNanos int64 // the broker's clock; 0 if unknown, and then every reading is accepted
}

// State says how a sender's readings are treated.
type State uint8

// States.
const (
	OK State = iota
	Quarantined
	Shifted
)

var stateNames = [...]string{OK: "ok", Quarantined: "quarantined", Shifted: "shifted"}

func (s State) String() string { return stateNames[s] }

// Sender is one source of an agent.
type Sender struct{ Agent, Source string }

// Clock describes the clock of a sender.
type Clock struct {
	Sender
	State       State
	OffsetNanos int64  // how far it is ahead of the broker's
	Rows        uint64 // rejected since the start
	SeenNanos   int64  // the broker's time of its last record
}

// Checker holds the state of the senders of one fabric. It is not safe for concurrent use.
type Checker struct {
	toleranceNanos int64
	correct        bool
	senders        map[Sender]*sender
	refused        [numReasons]uint64
	changed        []Clock
	kept, moved    schema.CounterBatch // buffers for the result of Step
}

// sender is the state of one sender.
type sender struct {
	clock   Clock
	shift   int64 // the correction, once steady
	steady  bool
	met     bool                 // it has sent a record before
	recent  [steadyRecords]int64 // offsets of the last records, while it is off
	filled  int
	inOrder int // successive records with a good clock, before the state becomes OK
}

const (
	// steadyRecords successive records with about the same offset make it steady.
	steadyRecords = 3
	// calmRecords successive records end a quarantine. Readings with a good
	// clock are accepted from the first such record on.
	calmRecords = 3
	// maxSenders limits the memory, whatever names arrive; beyond it, the half
	// that has been silent longest is dropped.
	maxSenders = 1 << 14
)

// New returns a checker for intervals of the given length.
func New(cfg Config, interval time.Duration) *Checker {
	return &Checker{toleranceNanos: int64(cfg.Tolerance(interval)), correct: cfg.CorrectClocks, senders: map[Sender]*sender{}}
}

// Step returns the accepted part of a batch: the batch itself, or a copy that is valid
// until the next call; nil if nothing is accepted. It does not modify the batch.
func (ch *Checker) Step(b *schema.CounterBatch, t Times) *schema.CounterBatch {
	if t.AppendedNanos == 0 || b.Rows() == 0 {
		return b
	}
	s := ch.sender(b)
	s.clock.SeenNanos = t.AppendedNanos
	reason, shift := ch.decide(s, ch.offset(b, t))
	s.met = true
	if reason != accepted {
		ch.refuse(s, reason, b.Rows())
		return nil
	}
	if shift != 0 {
		b = ch.shifted(b, shift)
	}
	return ch.upTo(s, b, t.AppendedNanos+ch.toleranceNanos)
}

// offset returns how far the sender's clock is ahead. If the sender does not state
// its send time, only one thing is certain: a reading is not later than its
// record. Old readings may be a backlog just as well as a slow clock, and are
// accepted.
func (ch *Checker) offset(b *schema.CounterBatch, t Times) int64 {
	if t.SentNanos != 0 {
		return t.SentNanos - t.AppendedNanos
	}
	return max(0, slices.Min(b.TimeNanos)-t.AppendedNanos)
}

// decide decides about a record by its sender's offset, without history unless
// clocks are corrected.
func (ch *Checker) decide(s *sender, offset int64) (Reason, int64) {
	s.clock.OffsetNanos = offset
	if offset <= ch.toleranceNanos && offset >= -ch.toleranceNanos {
		if s.inOrder++; s.inOrder >= calmRecords {
			ch.enter(s, OK)
		}
		s.filled, s.steady = 0, false
		return accepted, 0
	}
	s.inOrder = 0
	if !ch.correct {
		ch.enter(s, Quarantined)
		return direction(offset), 0
	}
	if s.correction(offset, ch.toleranceNanos) {
		ch.enter(s, Shifted)
		return accepted, s.shift
	}
	ch.enter(s, Quarantined)
	return Unsteady, 0
}

func direction(offset int64) Reason {
	if offset > 0 {
		return Ahead
	}
	return Behind
}

// correction reports whether a clock has a steady offset, which it then corrects by
// the largest of the last offsets: that of the record that reached the broker
// fastest. The shift stays the same as long as it fits: a shift that followed every
// record would distort rates by the network delay. The first record of a sender
// counts as steady, so that a restart of the analyser loses no readings.
func (s *sender) correction(offset, tolerance int64) bool {
	if s.steady && near(offset, s.shift, tolerance/2) {
		if offset > s.shift+int64(time.Second) {
			s.shift = offset
		}
		return true
	}
	if s.steady = !s.met; s.steady {
		s.shift = offset
		return true
	}
	if s.filled == steadyRecords {
		copy(s.recent[:], s.recent[1:])
		s.filled--
	}
	s.recent[s.filled] = offset
	s.filled++
	least, most := slices.Min(s.recent[:s.filled]), slices.Max(s.recent[:s.filled])
	if s.filled == steadyRecords && most-least <= tolerance/4 {
		s.shift, s.steady, s.filled = most, true, 0
	}
	return s.steady
}

func near(a, b, by int64) bool { return a-b <= by && b-a <= by }

// enter records a change of state.
func (ch *Checker) enter(s *sender, to State) {
	if s.clock.State == to {
		return
	}
	s.clock.State = to
	ch.changed = append(ch.changed, s.clock)
}

func (ch *Checker) refuse(s *sender, r Reason, rows int) {
	ch.refused[r] += uint64(rows)
	s.clock.Rows += uint64(rows)
}

// shifted returns the batch with its times converted to the broker's clock.
func (ch *Checker) shifted(b *schema.CounterBatch, by int64) *schema.CounterBatch {
	times := ch.moved.TimeNanos[:0]
	for _, nanos := range b.TimeNanos {
		times = append(times, nanos-by)
	}
	ch.moved = *b
	ch.moved.TimeNanos = times
	return &ch.moved
}

// upTo rejects the rows that are later than lastNanos.
func (ch *Checker) upTo(s *sender, b *schema.CounterBatch, lastNanos int64) *schema.CounterBatch {
	if slices.Max(b.TimeNanos) <= lastNanos || b.Check() != nil { // an invalid batch is left to its consumer to reject
		return b
	}
	k := &ch.kept
	columns := k.Columns
	times, ports := k.TimeNanos[:0], k.PortIndex[:0]
	*k = *b
	k.Columns = slices.Grow(columns[:0], len(b.Columns))
	for _, c := range b.Columns {
		k.Columns = append(k.Columns, schema.CounterColumn{Name: c.Name})
	}
	for row, nanos := range b.TimeNanos {
		if nanos > lastNanos {
			continue
		}
		times, ports = append(times, nanos), append(ports, b.PortIndex[row])
		for c := range b.Columns {
			keepValue(&k.Columns[c], &b.Columns[c], row, len(times)-1)
		}
	}
	k.TimeNanos, k.PortIndex = times, ports
	ch.refuse(s, Ahead, b.Rows()-len(times))
	if len(times) == 0 {
		return nil
	}
	return k
}

// keepValue appends the value of a row to a column, as row n.
func keepValue(to, from *schema.CounterColumn, row, n int) {
	to.Values = append(to.Values, from.Values[row])
	if from.Valid == nil {
		return
	}
	if n/64 >= len(to.Valid) {
		to.Valid = append(to.Valid, 0)
	}
	if from.Valid.Has(row) {
		to.Valid.Set(n)
	}
}

func (ch *Checker) sender(b *schema.CounterBatch) *sender {
	key := Sender{b.Agent, b.Source}
	if s := ch.senders[key]; s != nil {
		return s
	}
	if len(ch.senders) >= maxSenders {
		ch.forgetHalf()
	}
	s := &sender{clock: Clock{Sender: Sender{strings.Clone(b.Agent), strings.Clone(b.Source)}}}
	ch.senders[s.clock.Sender] = s
	return s
}

// Forget drops the senders that have sent nothing since an instant of the broker's
// clock.
func (ch *Checker) Forget(beforeNanos int64) {
	for key, s := range ch.senders {
		if s.clock.SeenNanos < beforeNanos {
			delete(ch.senders, key)
		}
	}
}

func (ch *Checker) forgetHalf() {
	clocks := ch.Clocks()
	slices.SortFunc(clocks, func(a, b Clock) int { return cmp.Compare(a.SeenNanos, b.SeenNanos) })
	for _, c := range clocks[:len(clocks)/2] {
		delete(ch.senders, c.Sender)
	}
}

// Accepts reports whether readings of any sender that has sent since an instant of the broker's clock are accepted.
func (ch *Checker) Accepts(sinceNanos int64) bool {
	for _, s := range ch.senders {
		if s.clock.State != Quarantined && s.clock.SeenNanos >= sinceNanos {
			return true
		}
	}
	return false
}

// Refused returns how many rows were rejected since the start for a reason.
func (ch *Checker) Refused(r Reason) uint64 { return ch.refused[r] }

// Changes returns the clocks whose state has changed since the last call, in
// order. The slice is valid until the next Step.
func (ch *Checker) Changes() []Clock {
	c := ch.changed
	ch.changed = ch.changed[:0]
	return c
}

// Clocks returns the clocks of all senders, by agent and source.
func (ch *Checker) Clocks() []Clock {
	list := make([]Clock, 0, len(ch.senders))
	for _, s := range ch.senders {
		list = append(list, s.clock)
	}
	slices.SortFunc(list, func(a, b Clock) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Source, b.Source))
	})
	return list
}
