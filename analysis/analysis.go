// Package analysis is the pure core of Giverny: it takes counter batches, events, jobs, failures and the traffic of
// jobs of one fabric, and returns one result for every interval that closes. The window makes a snapshot of the
// counters; named stages then add to the result in turn: regions, their identity and forecast, hot links. What a
// stage has learned can be saved and loaded. There is no goroutine, no clock and no I/O here, so that live, replayed
// and simulated data are analysed alike.
package analysis

import (
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
	resumed     int64         // intervals that start at or before this were already stored
	stored      map[int64]int // of these, by start: how many values they have; see Stored
	storedLost  window.Lost   // what they lack of the input that was read again
	loadedNanos int64         // end of the last interval covered by Load
	clocks      *clockcheck.Checker
	lastEnd     int64  // end of the last interval analysed by this or an earlier process
	backInTime  uint64 // intervals rejected because they are before lastEnd
	unsaved     int    // results since the last one with a saved state
	counted     map[string]uint64
	sequences   window.Sequences
	missing     uint64           // batches that never arrived
	doubled     map[string]int64 // by agent name: newest reading with which several processes were seen to send under it
	checked     bool             // the topology was found to match the data

	feeds    *feeds
	recalled Feeds // from an earlier process
}

// New returns the core of one version of a fabric.
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

// Graph returns the version of the fabric that is in force.
func (c *Core) Graph() *topology.Graph { return c.graph }

// Method describes how regions are found on the graph in force, and which count.
func (c *Core) Method() string {
	for _, s := range c.stages {
		if found, is := s.(*segmentStage); is {
			return found.segmenter.Describe()
		}
	}
	return "none"
}

// Add adds a batch. It rejects a batch of another fabric and an
// inconsistent one.
func (c *Core) Add(b *schema.CounterBatch) error {
	accepted, err := c.CheckClock(b, clockcheck.Times{})
	if err != nil || accepted.Rows() == 0 {
		return err
	}
	return c.Take(accepted)
}

// CheckClock checks a batch from Kafka by its sender's clock: it returns the
// readings that are accepted, corrected if so configured, for Take. The batch is
// empty if there are none.
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

// number evaluates the sequence number of a batch.
func (c *Core) number(b *schema.CounterBatch) {
	step := c.sequences.Add(b)
	c.missing += step.Missing
	if step.Restarted {
		c.window.Renumbered(b.Agent, b.Source)
	}
	if step.Doubled && b.Rows() > 0 {
		c.doubled[strings.Clone(b.Agent)] = slices.Max(b.TimeNanos)
	}
}

// Take adds a batch of accepted readings.
func (c *Core) Take(b *schema.CounterBatch) error {
	if err := c.window.Add(b); err != nil {
		return err
	}
	c.raw.add(b, c.window.End())
	return nil
}

// Clocks returns the checker of the senders' clocks.
func (c *Core) Clocks() *clockcheck.Checker { return c.clocks }

// LastEnd returns the end of the last interval analysed by this process or an
// earlier one; the smallest int64 if there is none.
func (c *Core) LastEnd() int64 { return c.lastEnd }

// CheckTopology returns an error if most of the ports that report are
// unknown to the topology. It decides once half of the fabric's ports, or 100 if
// that is fewer, have reported, and not again after it has passed; a new host or
// rack that is missing in the topology is no fault. Call it when everything sent
// so far has been added: the first hosts to report are not a representative
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
	return fmt.Errorf("fabric %q: the topology does not match the data: %d of %d reporting ports are not in the topology, the first is %s; import the fabric again, or configure the right topology",
		c.graph.Fabric(), unknown, known+unknown, strings.Join(c.window.Mismatches(), ", "))
}

// UnknownPorts returns how many ports have reported that are not in the topology, and the first few of them.
func (c *Core) UnknownPorts() (n int, first []string) {
	_, n = c.window.Ports()
	return n, c.window.Mismatches()
}

// Advance tells the core up to when everything sent has been added, which
// closes intervals after the allowed lateness, and the present time.
func (c *Core) Advance(completeNanos, nowNanos int64) {
	c.window.Advance(completeNanos, nowNanos)
}

// LowWater returns the low watermark: the time from which input is needed again after a restart.
func (c *Core) LowWater() int64 { return c.window.LowWater() }

// Reach is how far before the start of an interval its input may begin.
func (c *Core) Reach() int64 { return c.window.Reach() }

// TakeLost returns what was too late for its interval, or too early, since the
// last call, also of the intervals of Stored.
func (c *Core) TakeLost() window.Lost {
	lost := c.window.TakeLost()
	lost.Add(c.storedLost)
	c.storedLost = window.Lost{}
	return lost
}

// Check reports whether Add would reject a batch.
func (c *Core) Check(b *schema.CounterBatch) error {
	if b.Fabric != c.graph.Fabric() {
		return fmt.Errorf("batch of agent %q for fabric %q: wrong fabric: this analyser handles %q", b.Agent, b.Fabric, c.graph.Fabric())
	}
	return b.Check()
}

// Recycle returns a result's snapshot for reuse.
func (c *Core) Recycle(r *schema.IntervalResult) { c.window.Recycle(r.Snapshot) }

// Next returns the result of the next closed interval, or nil. The caller owns
// it, and must return its snapshot with Recycle.
func (c *Core) Next() *schema.IntervalResult {
	for {
		snap := c.window.Next()
		if snap == nil {
			return nil
		}
		raw := c.raw.take(snap.Interval.StartNanos)
		if snap.Interval.StartNanos <= c.resumed { // an event that was too late to be stored with it comes with the next
			c.compare(snap)
			c.window.Recycle(snap)
			continue
		}
		if snap.Interval.StartNanos < c.lastEnd { // time went back: the stored interval stands
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

// SetGraph switches to another version of the fabric, and reports the change as
// an event of the open interval, unless nothing was analysed before; atNanos is the
// time of the newest reading, 0 if there is none yet. The state of ports, links and regions is kept
// by port names. Take the results that are ready first: snapshots belong to the
// version that was in force when they closed.
func (c *Core) SetGraph(g *topology.Graph, atNanos int64) error {
	if g.Version() == c.graph.Version() {
		return nil
	}
	change := topology.Diff(c.graph, g)
	if err := c.setGraph(g); err != nil {
		return err
	}
	c.checked = false
	at := max(atNanos, c.lastEnd)
	if at <= 0 {
		return nil
	}
	detail := "topology changed: " + change.String()
	if len(change.Recabled) > 0 {
		detail += ", first " + g.LinkName(change.Recabled[0].Now)
	}
	c.AddEvents([]schema.Event{{TimeNanos: at, Fabric: g.Fabric(), Kind: schema.GraphChanged, Detail: detail}}, 0)
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

// MissingBatches returns how many batches since the start were sent but never
// arrived, according to gaps in their numbers.
func (c *Core) MissingBatches() uint64 { return c.missing }

// DoubledAgents returns the names, sorted, under which several processes have sent readings of an instant
// or later.
func (c *Core) DoubledAgents(sinceNanos int64) []string {
	maps.DeleteFunc(c.doubled, func(_ string, newest int64) bool { return newest < sinceNanos })
	return slices.Sorted(maps.Keys(c.doubled))
}

// Drops returns the number of discarded readings since the start, for every
// reason.
func (c *Core) Drops() map[string]uint64 {
	d := c.window.Drops()
	d["raw_late"], d["raw_early"], d["raw_full"], d["back_in_time"] = c.raw.late, c.raw.early, c.raw.full, c.backInTime
	for _, r := range clockcheck.Reasons() {
		d[r.String()] = c.clocks.Refused(r)
	}
	c.feeds.drops(d)
	return d
}

// dropped returns the increase of Drops since the last call.
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
