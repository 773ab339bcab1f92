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
	// maxAheadNanos. Their values are in slots, a ring buffer with the first
	// interval at head.
	openStart, maxAheadNanos int64
	latestNanos              int64 // readings from here on come from a wrong clock; only known after Advance
	slots                    []slotMeta
	head                     int
	opened                   bool  // a row has arrived
	closed                   bool  // an interval has closed, so that openStart no longer goes back
	newest                   int64 // instant of the newest reading kept
	lost                     Lost  // since TakeLost
	stale                    int   // successive rows that were late by more than a jump

	tracks  []*track // by metric
	trackOf map[string]*track
	ticks   []uint64 // by port: picoseconds, 0 if unknown; nil if all are

	ready []*schema.Snapshot // closed, not yet returned by Next
	spare []*schema.Snapshot // recycled

	batchPlan
}

// batchPlan is what Add has determined for the current batch.
type batchPlan struct {
	portOf        []uint32 // by index into the batch's ports
	planned       []plannedColumn
	tickColumn    *schema.CounterColumn
	keyCounter    *track
	ahead         int64  // reachAhead of keyCounter
	agent         uint64 // hash of agent and source
	afterBoundary int64  // a derived percentage read at t belongs to the interval that contains t - afterBoundary
	lateBy        int64  // a row is late if its time minus this is before the open interval
	rows          []uint32
}

type plannedColumn struct {
	track  *track
	column *schema.CounterColumn
}

// The valid instants of readings, 1897 to 2116, which leaves room for arithmetic.
const (
	minTime = -1 << 61
	maxTime = 1<<62 - 1
)

// New returns a window for one version of a fabric.
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

// Add adds a batch; Next returns the intervals that this closes. It rejects a
// batch of another fabric, or an inconsistent one, as a whole; other faults are
// counted in Drops. The window does not retain the batch's memory.
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

// Advance tells the window that all readings from before completeNanos have been
// added, and the present time: it closes intervals that ended longer ago than the
// allowed lateness, and drops readings that are ahead of now by MaxAheadIntervals or
// more. It is for live data only.
func (w *Window) Advance(completeNanos, nowNanos int64) {
	nowNanos = max(minTime, min(nowNanos, maxTime))
	w.latestNanos = nowNanos + w.cfg.IntervalNanos*int64(len(w.slots))
	if w.opened {
		w.closeDue(max(minTime, min(completeNanos, nowNanos)) - w.cfg.ClockLatenessNanos)
	}
}

// Next returns the next snapshot, or nil if no more intervals are closed. Call
// it after every Add and Advance until it returns nil. The caller owns the
// snapshot until Recycle.
func (w *Window) Next() *schema.Snapshot {
	if len(w.ready) == 0 {
		return nil
	}
	s := w.ready[0]
	w.ready = slices.Delete(w.ready, 0, 1)
	return s
}

// Recycle returns a snapshot, which must no longer be used, to the window for reuse.
func (w *Window) Recycle(s *schema.Snapshot) {
	if s != nil && len(w.spare) < maxSpare {
		w.spare = append(w.spare, s)
	}
}

// maxSpare bounds the memory of recycled snapshots: those that wait for the store and those in use, and some more.
const maxSpare = 8

// LowWater returns the low watermark: no reading before it is needed for the
// snapshots that Next has yet to return. A new window that gets the batches from
// the first one with a row at or after it makes the same snapshots. Differences
// begin up to MaxGapIntervals before an interval, and the rows since then
// determine who is waited for. It is the smallest int64 if nothing is known yet.
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

// End returns the end of the last open interval: later readings are too early. It is the largest int64 if nothing
// is known yet.
func (w *Window) End() int64 {
	if !w.opened {
		return math.MaxInt64
	}
	return w.maxAheadNanos
}

// Reach is how far before the start of an interval its readings may begin. While
// rows of the interval arrive, one that is older by the lateness may still wait
// for another port.
func (w *Window) Reach() int64 {
	return w.maxGapNanos + max(w.cfg.EventTimeLatenessNanos, w.cfg.ClockLatenessNanos) + w.cfg.IntervalNanos
}

// Ports returns how many ports have reported: those in the graph and those that
// are not. If the second number is large, the topology is that of another
// fabric.
func (w *Window) Ports() (known, unknown int) { return w.clocks.numKnown, len(w.unknown) }

// Mismatches names the first few ports that reported and are not in the graph.
func (w *Window) Mismatches() []string { return slices.Clone(w.mismatches) }

// Drops returns the number of drops since the start, for every reason in its unit.
func (w *Window) Drops() map[string]uint64 {
	m := make(map[string]uint64, numReasons-1)
	for _, r := range Reasons() {
		m[r.String()] = w.dropped[r]
	}
	return m
}

// SetGraph switches to another version of the graph. Ports are identified by device and
// name: their readings are kept, except those of ports with another peer than before.
// Snapshots have the version that was in force when they closed: take the ready ones
// first.
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
	w.ticks, w.remembered = moved(w.ticks, from, keep), moved(w.remembered, from, keep)
	w.dictionaries = newDictionaries()
	w.clocks = w.clocks.renumbered(old.graph, w.ports, from)
	if w.opened {
		w.recount()
	}
	return nil
}
