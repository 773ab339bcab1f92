// Package analysis is the pure core of Giverny: counter batches, events, jobs,
// failures and the traffic of jobs of one fabric go in, and for every interval that closes one result comes out. The
// window makes a snapshot of the counters; named stages then add to the result in
// turn: regions, their identity and forecast, hot links. What a stage has learned
// can be saved and loaded. There is no goroutine, no clock and no I/O here, so
// that live, replayed and simulated data are analysed alike.
package analysis

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Core analyses one fabric. It is not safe for concurrent use.
type Core struct {
	cfg         Config
	graph       *topology.Graph
	window      *window.Window
	stages      []Stage
	raw         *rawBuffer
	resumed     int64 // intervals that start up to here were stored before
	loadedNanos int64 // end of the last interval that Load has brought
	clocks      *clockcheck.Checker
	lastEnd     int64  // end of the last interval that was analysed, now or by an earlier process
	backInTime  uint64 // intervals refused, since they are not after it
	unsaved     int    // results since the last that carried a saved state
	counted     map[string]uint64
	sequences   window.Sequences
	missing     uint64           // batches that never came
	doubled     map[string]int64 // by name of agent: the newest reading by which several processes send under it
	checked     bool             // the topology has been found to fit the data

	feeds    *feeds
	recalled Feeds // of an earlier process
}

// New makes the core of one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Core, error) {
	w, err := window.New(g, cfg.window())
	if err != nil {
		return nil, err
	}
	stages, err := newStages(g, cfg)
	if err != nil {
		return nil, err
	}
	return &Core{cfg: cfg, graph: g, window: w, stages: stages, unsaved: SaveIntervals,
		raw: newRawBuffer(int64(cfg.Window.Interval)), clocks: clockcheck.New(cfg.Clocks, cfg.Window.Interval),
		lastEnd: math.MinInt64, resumed: math.MinInt64, loadedNanos: math.MinInt64, counted: map[string]uint64{}, doubled: map[string]int64{}, feeds: newFeeds()}, nil
}

// Graph is the version of the fabric that is in force.
func (c *Core) Graph() *topology.Graph { return c.graph }

// Method says in a few words how regions are found on the version that is in force, and which count.
func (c *Core) Method() string {
	for _, s := range c.stages {
		if found, is := s.(*segmentStage); is {
			return found.segmenter.Describe()
		}
	}
	return "none"
}

// Add takes a batch. It refuses one of another fabric with ErrOtherFabric, and
// one whose parts do not fit together.
func (c *Core) Add(b *schema.CounterBatch) error {
	accepted, err := c.CheckClock(b, clockcheck.Times{})
	if err != nil || accepted.Rows() == 0 {
		return err
	}
	return c.Take(accepted)
}

// CheckClock checks a batch from Kafka by the clock of its sender: it returns the
// readings that are accepted, corrected where that is configured, for Take. The
// batch is empty if none is.
func (c *Core) CheckClock(b *schema.CounterBatch, t clockcheck.Times) (*schema.CounterBatch, error) {
	if err := c.Check(b); err != nil {
		return nil, err
	}
	c.number(b)
	if accepted := c.clocks.Step(b, t); accepted != nil {
		return accepted, nil
	}
	return &schema.CounterBatch{Fabric: b.Fabric, Source: b.Source, Agent: b.Agent}, nil
}

// number takes what the number of a batch says.
func (c *Core) number(b *schema.CounterBatch) {
	step := c.sequences.Add(b)
	c.missing += step.Missing
	if step.Doubled && b.Rows() > 0 {
		c.doubled[strings.Clone(b.Agent)] = slices.Max(b.TimeNanos)
	}
}

// Take takes a batch of accepted readings.
func (c *Core) Take(b *schema.CounterBatch) error {
	if err := c.window.Add(b); err != nil {
		return err
	}
	c.raw.add(b, c.window.End())
	return nil
}

// Clocks returns the check of the senders' clocks.
func (c *Core) Clocks() *clockcheck.Checker { return c.clocks }

// LastEnd is the end of the last interval that was analysed, by this process or an
// earlier one; the least int64 if there is none.
func (c *Core) LastEnd() int64 { return c.lastEnd }

// ErrOtherFabric says why a batch was refused, ErrWrongTopology that a fabric
// cannot be analysed by the topology that it was given.
var (
	ErrOtherFabric   = errors.New("another fabric")
	ErrWrongTopology = errors.New("the topology does not fit the data")
)

// CheckTopology fails with ErrWrongTopology if most of the ports that report are
// unknown to the topology. It decides once as many ports have reported as half of
// the fabric has, or 100 if that is fewer, and never again after it has passed; a
// host or a rack that is not in the topology yet is no fault. Call it when all
// that was sent so far has been added: hosts that report one by one are no
// sample.
func (c *Core) CheckTopology() error {
	known, unknown := c.window.Ports()
	if c.checked || known+unknown < min(100, max(1, c.graph.NumPorts()/2)) {
		return nil
	}
	if unknown <= known {
		c.checked = true
		return nil
	}
	return fmt.Errorf("fabric %q: %w: %d of %d ports that report are not in it, the first: %s; import the fabric again, or name the right topology",
		c.graph.Fabric(), ErrWrongTopology, unknown, known+unknown, strings.Join(c.window.Mismatches(), ", "))
}

// UnknownPorts is how many ports have reported that the topology does not have, and the first few of them.
func (c *Core) UnknownPorts() (n int, first []string) {
	_, n = c.window.Ports()
	return n, c.window.Mismatches()
}

// Advance tells the core up to when all that was sent has been added, by which
// intervals close after the lateness by the clock, and what time it is.
func (c *Core) Advance(completeNanos, nowNanos int64) {
	c.window.AdvanceTo(completeNanos, nowNanos)
}

// LowWater is the time from which on input is needed again after a restart.
func (c *Core) LowWater() int64 { return c.window.LowWater() }

// Reach is how far before the start of an interval input is needed for it.
func (c *Core) Reach() int64 { return c.window.Reach() }

// TakeLost is what came too late for its interval, or too early, since the last
// call.
func (c *Core) TakeLost() window.Lost { return c.window.TakeLost() }

// Check finds out whether Add would refuse a batch.
func (c *Core) Check(b *schema.CounterBatch) error {
	if b.Fabric != c.graph.Fabric() {
		return fmt.Errorf("batch of agent %q for fabric %q: %w: this is %q", b.Agent, b.Fabric, ErrOtherFabric, c.graph.Fabric())
	}
	return b.Check()
}

// Recycle gives a result's snapshot back for the next.
func (c *Core) Recycle(r *schema.IntervalResult) { c.window.Recycle(r.Snapshot) }

// Next is the result of the next interval that has closed, or nil. It is the
// receiver's; its snapshot is to be given back with Recycle.
func (c *Core) Next() *schema.IntervalResult {
	for {
		snap := c.window.Next()
		if snap == nil {
			return nil
		}
		raw := c.raw.take(snap.Interval.StartNanos)
		if snap.Interval.StartNanos <= c.resumed { // an event that came too late to be stored with it waits for the next
			c.window.Recycle(snap)
			continue
		}
		if snap.Interval.StartNanos < c.lastEnd { // time went back: what is stored stands
			c.backInTime++
			c.window.Recycle(snap)
			continue
		}
		return c.analyse(snap, raw)
	}
}

func (c *Core) analyse(snap *schema.Snapshot, raw []*schema.CounterBatch) *schema.IntervalResult {
	r := &schema.IntervalResult{Snapshot: snap, Raw: raw, Dropped: c.dropped()}
	c.lastEnd = snap.Interval.EndNanos()
	c.feeds.take(c.lastEnd, r)
	for _, s := range c.stages {
		s.Step(r)
	}
	if c.unsaved++; c.unsaved > SaveIntervals {
		c.unsaved, r.Saved = 1, c.save()
	}
	return r
}

// SetGraph goes on with another version of the fabric, and reports the change as
// an event of the interval that is open. What is known of ports, links and
// regions is kept by the names of ports. Take the results that are ready first:
// snapshots belong to the version that was in force when they closed.
func (c *Core) SetGraph(g *topology.Graph, atNanos int64) error {
	if g.Version() == c.graph.Version() {
		return nil
	}
	change := topology.Diff(c.graph, g)
	if err := c.setGraph(g); err != nil {
		return err
	}
	c.checked = false
	detail := "topology changed: " + change.String()
	if len(change.Recabled) > 0 {
		detail += ", first " + g.LinkName(change.Recabled[0].Now)
	}
	c.AddEvents([]schema.Event{{TimeNanos: atNanos, Fabric: g.Fabric(), Kind: schema.GraphChanged, Detail: detail}}, 0)
	return nil
}

func (c *Core) setGraph(g *topology.Graph) error {
	if err := c.window.SetGraph(g); err != nil {
		return err
	}
	if err := moveStages(c.stages, c.graph, g); err != nil {
		return err
	}
	c.graph = g
	return nil
}

// MissingBatches is how many batches since the start were sent and never came, by
// the gaps in their numbers.
func (c *Core) MissingBatches() uint64 { return c.missing }

// DoubledAgents are the names, in order, under which several processes have sent readings of an instant or
// after it.
func (c *Core) DoubledAgents(sinceNanos int64) []string {
	maps.DeleteFunc(c.doubled, func(_ string, newest int64) bool { return newest < sinceNanos })
	return slices.Sorted(maps.Keys(c.doubled))
}

// Drops is what was discarded since the start, by reason; every reason is there,
// at zero if need be.
func (c *Core) Drops() map[string]uint64 {
	d := c.window.Drops()
	d["raw_late"], d["raw_early"], d["raw_full"], d["back_in_time"] = c.raw.late, c.raw.early, c.raw.full, c.backInTime
	for _, r := range clockcheck.Reasons() {
		d[r.String()] = c.clocks.Refused(r)
	}
	c.feeds.drops(d)
	return d
}

// dropped is what was added to Drops since the last call.
func (c *Core) dropped() map[string]uint64 {
	now := c.Drops()
	diff := map[string]uint64{}
	for reason, n := range now {
		if n > c.counted[reason] {
			diff[reason] = n - c.counted[reason]
		}
	}
	c.counted = now
	return diff
}
