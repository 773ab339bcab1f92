// Package clockcheck checks the clocks of agents against the broker's. In go batches
// of counters with the two times that Kafka keeps of each record: when the agent sent
// it, by the agent's clock, and when the broker appended it, by the broker's. Out come
// the readings to use, shifted where that is configured, and the offset of each agent's
// clock. It reads no clock and decides only by what is in Kafka, so that reading the log
// again gives the same decisions. It does not check the clocks of single devices behind
// an agent: ingest/window does.
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
	// How far the clock of an agent may be off the brokers', either way; beyond, its readings are dropped and the agent is named. 0: an interval, and 30s at least.
	MaxClockOffset time.Duration `yaml:"max_clock_offset"`
	// Shift the readings of an agent whose clock is off by a steady offset, instead of dropping them.
	CorrectClocks bool `yaml:"correct_clocks"`
}

// Validate names every fault.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.MaxClockOffset >= 0 && c.MaxClockOffset <= 24*time.Hour, "max_clock_offset", "%v: want 0s to 24h", c.MaxClockOffset)
	return f.Err()
}

// minOffset is what an agent's clock and a slow way to the broker may be off in
// any case.
const minOffset = 30 * time.Second

// Tolerance is how far a clock may be off, for intervals of a length.
func (c *Config) Tolerance(interval time.Duration) time.Duration {
	if c.MaxClockOffset > 0 {
		return c.MaxClockOffset
	}
	return max(interval, minOffset)
}

// Reason says why rows were refused.
type Reason uint8

// Reasons. All count rows.
const (
	accepted Reason = iota
	Ahead           // the sender's clock, or the reading's time, is later than the broker's
	Behind          // the sender's clock is earlier than the broker's
	Unsteady        // the sender's clock is off, and not by the same for long enough to be corrected
	numReasons
)

var reasonNames = [numReasons]string{Ahead: "clock_ahead", Behind: "clock_behind", Unsteady: "clock_unsteady"}

// Reasons lists all there are.
func Reasons() []Reason { return []Reason{Ahead, Behind, Unsteady} }

// String is the reason as a label.
func (r Reason) String() string { return reasonNames[r] }

// Times are those that Kafka keeps of a record, in nanoseconds since 1970.
type Times struct {
	SentNanos     int64 // the sender's clock; 0 if the sender does not say
	AppendedNanos int64 // the broker's clock; 0 if it is not known, and then every reading is accepted
}

// State is what becomes of a sender's readings.
type State uint8

// States.
const (
	OK State = iota
	Quarantined
	Shifted
)

var stateNames = [...]string{OK: "ok", Quarantined: "quarantined", Shifted: "shifted"}

func (s State) String() string { return stateNames[s] }

// Sender is an agent with one of its sources.
type Sender struct{ Agent, Source string }

// Clock is what is known of the clock of a sender.
type Clock struct {
	Sender
	State       State
	OffsetNanos int64  // by how much it is ahead of the broker's
	Rows        uint64 // refused since the start
	SeenNanos   int64  // the broker's time of its last record
}

// Checker holds the state of the senders of one fabric. It is not safe for concurrent use.
type Checker struct {
	toleranceNanos int64
	correct        bool
	senders        map[Sender]*sender
	refused        [numReasons]uint64
	changed        []Clock
	kept, moved    schema.CounterBatch // memory of what Step returns
}

// sender is the state of one.
type sender struct {
	clock   Clock
	shift   int64 // what corrects it, once steady
	steady  bool
	met     bool                 // it has sent before
	recent  [steadyRecords]int64 // offsets of the last records, while it is off
	filled  int
	inOrder int // records in a row of a clock in order, before the state says so
}

const (
	// steadyRecords in a row with about the same offset make it a steady one.
	steadyRecords = 3
	// calmRecords in a row end the state of being quarantined. The readings of a
	// clock in order are taken from the first on.
	calmRecords = 3
	// maxSenders bounds the memory, whatever names come; those that have been
	// silent for longest are forgotten.
	maxSenders = 1 << 14
)

// New makes a checker for intervals of a length.
func New(cfg Config, interval time.Duration) *Checker {
	return &Checker{toleranceNanos: int64(cfg.Tolerance(interval)), correct: cfg.CorrectClocks, senders: map[Sender]*sender{}}
}

// Step returns the accepted part of a batch: the batch itself, or a copy
// that holds until the next call; nil if nothing is accepted. The batch is not changed.
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

// offset is by how much the sender's clock is ahead. Of one that does not say when
// it sent a record, it is known only that a reading is not later than the record:
// old readings may be a backlog as well as a clock behind, and are accepted.
func (ch *Checker) offset(b *schema.CounterBatch, t Times) int64 {
	if t.SentNanos != 0 {
		return t.SentNanos - t.AppendedNanos
	}
	return max(0, slices.Min(b.TimeNanos)-t.AppendedNanos)
}

// decide decides on a record by its sender's offset. That is by the record alone,
// except where clocks are corrected.
func (ch *Checker) decide(s *sender, offset int64) (Reason, int64) {
	s.clock.OffsetNanos = offset
	if offset <= ch.toleranceNanos && offset >= -ch.toleranceNanos {
		if s.inOrder++; s.inOrder >= calmRecords || s.clock.State == OK {
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

// correction finds out whether a clock is off by the same as before, and then
// corrects it by the largest of the last offsets, that of the record which took the
// least time to the broker. The shift stays as it is as long as it fits: a shift
// that follows every record would make rates of the way to the broker. The first
// record of a sender is accepted as it is, so that a restart of the analyser costs
// no readings.
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

// enter notes a change of state.
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

// shifted is a batch by the broker's clock.
func (ch *Checker) shifted(b *schema.CounterBatch, by int64) *schema.CounterBatch {
	times := ch.moved.TimeNanos[:0]
	for _, nanos := range b.TimeNanos {
		times = append(times, nanos-by)
	}
	ch.moved = *b
	ch.moved.TimeNanos = times
	return &ch.moved
}

// upTo refuses the rows that are later than an instant.
func (ch *Checker) upTo(s *sender, b *schema.CounterBatch, lastNanos int64) *schema.CounterBatch {
	if slices.Max(b.TimeNanos) <= lastNanos || b.Check() != nil { // who takes the batch refuses it
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

// Refused is how many rows were refused since the start, by reason.
func (ch *Checker) Refused(r Reason) uint64 { return ch.refused[r] }

// Changes are the clocks that have changed their state since the last call, in
// order. They hold until the next Step.
func (ch *Checker) Changes() []Clock {
	c := ch.changed
	ch.changed = ch.changed[:0]
	return c
}

// Clocks are those of all senders, by agent and source.
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
