package window

import (
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Window makes snapshots of one fabric. It is not safe for concurrent use.
type Window struct {
	cfg         settled
	wanted      [schema.NumMetrics]bool
	maxGapNanos int64
	ports       *ports
	dictionaries
	clocks clocks
	sightings
	dropped [numReasons]uint64

	// The open intervals: the first begins at openStart, the last ends at
	// maxAheadNanos. Their values lie in slots, that of the first at head.
	openStart, maxAheadNanos int64
	latestNanos              int64 // what is not earlier is from a clock that is wrong, if Advance has said the time
	slots                    []slotMeta
	head                     int
	opened                   bool  // a row has come
	closed                   bool  // an interval has closed, so that time does not go back any more
	newest                   int64 // instant of the newest reading kept
	lost                     Lost  // since TakeLost
	stale                    int   // rows in succession that were late by more than a jump

	tracks  []*track // by metric
	trackOf map[string]*track
	ticks   []uint64 // by port: picoseconds, 0 if not known; nil if none is

	ready []*schema.Snapshot // closed, not yet taken
	spare []*schema.Snapshot // given back

	batchPlan
}

// batchPlan is what Add worked out for the batch at hand.
type batchPlan struct {
	portOf        []uint32 // by index into the batch's ports
	planned       []plannedColumn
	tickColumn    *schema.CounterColumn
	keyCounter    *track
	ahead         int64  // reachAhead of the keyCounter
	agent         uint64 // hash of agent and source
	afterBoundary int64  // the interval of a derived percentage read at t is that which holds t - afterBoundary
	lateBy        int64  // a row is late if its time less this lies before the open interval
	rows          []uint32
}

type plannedColumn struct {
	track  *track
	column *schema.CounterColumn
}

// The instants that readings may have, 1897 to 2116, with room to reckon.
const (
	minTime = -1 << 61
	maxTime = 1<<62 - 1
)

// New makes the window of one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Window, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("window of fabric %q: %w", g.Fabric(), err)
	}
	s := cfg.settled()
	p := newPorts(g)
	w := &Window{cfg: s, maxGapNanos: int64(s.MaxGapIntervals) * s.IntervalNanos, ports: p, dictionaries: newDictionaries(),
		clocks: newClocks(g.NumDevices(), p.len()), slots: make([]slotMeta, s.MaxAheadIntervals), newest: never, latestNanos: math.MaxInt64, trackOf: map[string]*track{}}
	for m := range w.wanted {
		w.wanted[m] = m != int(schema.NoMetric) && (cfg.Metrics == nil || slices.Contains(cfg.Metrics, schema.Metric(m)))
	}
	return w, nil
}

// Add takes a batch; intervals that close thereby are to be had from Next. It
// refuses a batch of another fabric or one whose parts do not fit together, as a
// whole; what else is wrong is counted in Drops. The window keeps nothing of the
// batch's memory.
func (w *Window) Add(b *schema.CounterBatch) error {
	if fabric := w.ports.graph.Fabric(); b.Fabric != fabric {
		return fmt.Errorf("batch %d of agent %q is of fabric %q, not %q; give each fabric a window of its own", b.Sequence, b.Agent, b.Fabric, fabric)
	}
	if err := b.Check(); err != nil {
		return fmt.Errorf("batch %d of agent %q: %w", b.Sequence, b.Agent, err)
	}
	if !w.plan(b) {
		return nil
	}
	w.portOf = w.resolve(w.ports, b, w.agent)
	for r, nanos := range b.TimeNanos {
		switch p := w.portOf[b.PortIndex[r]]; {
		case p == noPort:
			w.dropped[UnknownPort]++
		case nanos < minTime || nanos > maxTime:
			w.dropped[BadTime]++
		case nanos >= w.latestNanos:
			w.dropped[Early]++
		default:
			w.acceptRow(b, uint32(r), p, nanos)
		}
	}
	w.store(b)
	return nil
}

// Advance says what time it is, where readings do not: intervals that ended
// longer ago than the lateness by the clock close, and what was read later than
// now by MaxAheadIntervals is no sign of anything. It is for live data only.
func (w *Window) Advance(nowNanos int64) { w.AdvanceTo(nowNanos, nowNanos) }

// AdvanceTo is Advance for data that come by a way on which they may be held up:
// all that was read before completeNanos has been added, and what comes now may
// be as new as nowNanos.
func (w *Window) AdvanceTo(completeNanos, nowNanos int64) {
	nowNanos = max(minTime, min(nowNanos, maxTime))
	w.latestNanos = nowNanos + w.cfg.IntervalNanos*int64(len(w.slots))
	if w.opened {
		w.closeDue(max(minTime, min(completeNanos, nowNanos)) - w.cfg.ClockLatenessNanos)
	}
}

// Next is the next snapshot, or nil if no more intervals are closed. Call it
// after every Add and Advance until it returns nil. The snapshot is the
// caller's until Recycle.
func (w *Window) Next() *schema.Snapshot {
	if len(w.ready) == 0 {
		return nil
	}
	s := w.ready[0]
	w.ready = slices.Delete(w.ready, 0, 1)
	return s
}

// Recycle gives a snapshot back, which must not be used any more.
func (w *Window) Recycle(s *schema.Snapshot) {
	if s != nil && len(w.spare) < maxSpare {
		w.spare = append(w.spare, s)
	}
}

const maxSpare = 8

// LowWater is the instant before which no reading is needed for the snapshots
// that Next has yet to give: a new window that is given the batches from the
// first one with a row at or after it makes the same ones. Differences begin up
// to MaxGapIntervals before an interval, and who is waited for in it follows from
// the rows since then. It is the least int64 if nothing is known yet.
func (w *Window) LowWater() int64 {
	start := w.openStart
	switch {
	case len(w.ready) > 0:
		start = w.ready[0].Interval.StartNanos
	case !w.opened:
		return never
	}
	return start - w.Reach()
}

// End is the end of the open intervals: what was read later comes too early. It is the largest int64 if nothing is
// known yet.
func (w *Window) End() int64 {
	if !w.opened {
		return math.MaxInt64
	}
	return w.maxAheadNanos
}

// Reach is how far before the start of an interval readings are needed for it.
// While rows of the interval come, one that is older by the lateness may still be
// waiting for another port.
func (w *Window) Reach() int64 {
	return w.maxGapNanos + max(w.cfg.EventTimeLatenessNanos, w.cfg.ClockLatenessNanos) + w.cfg.IntervalNanos
}

// Ports is how many ports have reported, those that the graph has and those that
// it does not have. Where the second is large, the topology is another's.
func (w *Window) Ports() (known, unknown int) { return w.clocks.numKnown, len(w.unknown) }

// Mismatches names the first few ports that reported and are not in the graph.
func (w *Window) Mismatches() []string { return slices.Clone(w.mismatches) }

// Drops is what was dropped since the start, by reason; each reason is there.
func (w *Window) Drops() map[string]uint64 {
	m := make(map[string]uint64, numReasons-1)
	for _, r := range Reasons() {
		m[r.String()] = w.dropped[r]
	}
	return m
}

// Dropped is what was dropped for one reason since the start, in its unit.
func (w *Window) Dropped(r Reason) uint64 { return w.dropped[r] }

// SetGraph goes on with another version of the graph. Ports are known by device
// and name: what was read of them is kept, except where a port is joined to
// another than before; such ports begin without history. Snapshots are of the version that
// was in force when they closed: take those that are ready first.
func (w *Window) SetGraph(g *topology.Graph) error {
	if was := w.ports.graph.Fabric(); g.Fabric() != was {
		return fmt.Errorf("graph of fabric %q given to the window of %q", g.Fabric(), was)
	}
	old := w.ports
	w.ports = newPorts(g)
	from := make([]uint32, w.ports.len())
	keep := schema.NewBitmap(len(from))
	for p := range from {
		name := schema.PortName{Device: g.Device(w.ports.device[p]).Name, Port: w.ports.name[p]}
		from[p] = old.find(name)
		if from[p] != noPort && old.peers(from[p]) == w.ports.peers(uint32(p)) {
			keep.Set(p)
		}
	}
	for _, t := range w.tracks {
		t.renumber(from, keep)
	}
	w.ticks = moved(w.ticks, from, keep)
	w.dictionaries = newDictionaries()
	w.clocks = w.clocks.renumbered(old.graph, w.ports, from)
	if w.opened {
		w.recount()
	}
	return nil
}
