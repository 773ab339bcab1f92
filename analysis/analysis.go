// Package analysis is the pure core of Giverny: counter batches and events of
// one fabric go in, and for every interval that closes a snapshot, its regions
// with their identity and forecast, and the events that belong to it come out. It is
// made of the window, the segmenter, the tracker and the measure of hotspots, and
// what it has learned can be saved and loaded; it has no goroutine, no clock and
// does no I/O, so that live, replayed and simulated data are analysed alike.
package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// Config of the parts.
type Config struct {
	Window  window.Config
	Segment segment.Config
	Track   tracking.Config
	Hot     tracking.HotspotConfig
}

// DefaultConfig analyses intervals of a minute.
func DefaultConfig() Config {
	return Config{Window: window.DefaultConfig(), Segment: segment.DefaultConfig(), Track: tracking.DefaultConfig(), Hot: tracking.DefaultHotspotConfig()}
}

// SaveIntervals is how many results come between two that have Saved: between
// them Resume needs what was stored.
const SaveIntervals = 10

// Core analyses one fabric. It is not safe for concurrent use.
type Core struct {
	graph     *topology.Graph
	window    *window.Window
	segmenter *segment.Segmenter
	tracker   *tracking.Tracker
	hotspots  *tracking.Hotspots
	cfg       Config
	unsaved   int // results since the last that was saved
	raw       *rawBuffer
	events    []schema.Event // of intervals that are open, by time
	resumed   int64          // intervals that start up to here were stored before
	counted   map[string]uint64
	checked   bool

	storedEvents map[schema.Event]bool // of an earlier process
}

// New makes the core of one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Core, error) {
	w, err := window.New(g, cfg.Window)
	if err != nil {
		return nil, err
	}
	s, err := segment.New(g, cfg.Segment)
	if err != nil {
		return nil, err
	}
	t, err := tracking.New(g, cfg.Track)
	if err != nil {
		return nil, err
	}
	h, err := tracking.NewHotspots(g, cfg.Hot)
	if err != nil {
		return nil, err
	}
	return &Core{graph: g, window: w, segmenter: s, tracker: t, hotspots: h, cfg: cfg, unsaved: SaveIntervals,
		raw: newRawBuffer(cfg.Window.IntervalNanos), resumed: minInt64, counted: map[string]uint64{}}, nil
}

const minInt64 = -1 << 63

// Resume makes the core go on after the intervals that an earlier process
// stored, given in order of time: it gives no result up to and including the
// last of them, their regions hand their identity on, and of their events none
// comes out again. After Load, those that Load knows are not looked at. It reports
// the intervals that cannot follow the one before and hand nothing on, which is no
// reason not to go on.
func (c *Core) Resume(stored []Interval, events []schema.Event) error {
	var errs []error
	loaded := c.tracker.Last().EndNanos()
	for _, in := range stored {
		c.resumed = in.Interval.StartNanos
		c.raw.openFrom = in.Interval.EndNanos()
		if in.Interval.StartNanos < loaded {
			continue
		}
		err := c.tracker.Restore(in.Interval, in.Regions)
		if s := in.Snapshot; err == nil && s != nil && s.GraphVersion == c.graph.Version() && s.Links == c.graph.NumLinks() {
			c.hotspots.Step(s)
		}
		errs = append(errs, err)
	}
	c.storedEvents = make(map[schema.Event]bool, len(events))
	for _, e := range events {
		c.storedEvents[e] = true
	}
	return errors.Join(errs...)
}

// Interval is an interval with its regions as they were stored.
type Interval struct {
	Interval schema.Interval
	Regions  []schema.Region
	Snapshot *schema.Snapshot // nil: the hotspots do not learn of it
}

// Add takes a batch. It fails where the batch cannot be of this fabric: with
// ErrOtherFabric, which costs the batch, or with ErrWrongTopology, after which
// nothing that the core says can be trusted.
func (c *Core) Add(b *schema.CounterBatch) error {
	if b.Fabric != c.graph.Fabric() {
		return fmt.Errorf("batch of agent %q for fabric %q: %w: this is %q", b.Agent, b.Fabric, ErrOtherFabric, c.graph.Fabric())
	}
	if err := c.window.Add(b); err != nil {
		return err
	}
	c.raw.add(b)
	if !c.checked {
		return c.checkTopology()
	}
	return nil
}

// ErrOtherFabric and ErrWrongTopology say why a batch was refused.
var (
	ErrOtherFabric   = errors.New("another fabric")
	ErrWrongTopology = errors.New("the topology does not fit the data")
)

// checkTopology refuses a topology that knows fewer than half of the ports that
// report.
func (c *Core) checkTopology() error {
	known, unknown := c.window.Ports()
	if unknown <= known {
		return nil
	}
	return fmt.Errorf("fabric %q: %w: %d of %d ports that report are not in it, the first: %s; import the fabric anew, or name the right topology",
		c.graph.Fabric(), ErrWrongTopology, unknown, known+unknown, strings.Join(c.window.Mismatches(), ", "))
}

// AddEvent takes something that happened to the fabric. It comes out with the
// interval in which it happened, or with the next.
func (c *Core) AddEvent(e schema.Event) {
	if c.storedEvents[e] {
		return
	}
	at, _ := slices.BinarySearchFunc(c.events, e.TimeNanos+1, func(o schema.Event, nanos int64) int {
		if o.TimeNanos < nanos {
			return -1
		}
		return 1
	})
	c.events = slices.Insert(c.events, at, e)
}

// Advance tells the core up to when all that was sent has been added, by which
// intervals close after the lateness by the clock, and what time it is.
func (c *Core) Advance(completeNanos, nowNanos int64) {
	c.window.AdvanceTo(completeNanos, nowNanos)
}

// LowWater is the time from which on input is needed again after a restart.
func (c *Core) LowWater() int64 { return c.window.LowWater() }

// Recycle gives a result's snapshot back for the next.
func (c *Core) Recycle(r *schema.IntervalResult) { c.window.Recycle(r.Snapshot) }

// Next is the result of the next interval that has closed, or nil.
func (c *Core) Next() *schema.IntervalResult {
	for {
		snap := c.window.Next()
		if snap == nil {
			return nil
		}
		c.checked = true
		raw := c.raw.take(snap.Interval.StartNanos)
		if snap.Interval.StartNanos <= c.resumed { // an event that came too late to be stored with it waits for the next
			c.window.Recycle(snap)
			continue
		}
		return c.analyse(snap, raw, c.takeEvents(snap.Interval.EndNanos()))
	}
}

func (c *Core) analyse(snap *schema.Snapshot, raw []*schema.CounterBatch, events []schema.Event) *schema.IntervalResult {
	regions := c.segmenter.Step(snap)
	for i := range regions {
		regions[i].Name = c.graph.Describe(regions[i].Links)
	}
	tracked := c.tracker.Step(snap.Interval, regions)
	c.hotspots.Step(snap)
	r := &schema.IntervalResult{Snapshot: snap, Raw: raw, Dropped: c.dropped(), Events: append(events, tracked.Events...),
		Network: tracked.Network, Transitions: slices.Clone(tracked.Transitions),
		Hot: slices.Clone(c.hotspots.Longest()), Episodes: slices.Clone(c.hotspots.Episodes())}
	r.Skill.Next, r.Skill.Later = c.tracker.Skill()
	if e := tracked.Congestion; e != nil && !e.Ended {
		on := e.CongestionEvent
		r.Congestion = &on
	}
	if c.unsaved++; c.unsaved > SaveIntervals {
		c.unsaved, r.Saved = 1, []schema.StageState{{Stage: "all", Version: 1, Bytes: c.save()}}
	}
	forecasts := slices.Clone(tracked.Forecasts)
	r.Regions = make([]schema.Region, len(tracked.Regions))
	for i, region := range tracked.Regions { // the segmenter uses its memory again
		region.Links = slices.Clone(region.Links)
		region.Forecast = &forecasts[i]
		if region.Box != nil {
			region.Box = &schema.Box{Min: slices.Clone(region.Box.Min), Max: slices.Clone(region.Box.Max)}
		}
		r.Regions[i] = region
	}
	r.States = schema.NetworkStates(snap, r.Regions)
	return r
}

// takeEvents removes the events before an instant.
func (c *Core) takeEvents(end int64) []schema.Event {
	n := 0
	for n < len(c.events) && c.events[n].TimeNanos < end {
		n++
	}
	taken := slices.Clone(c.events[:n])
	c.events = slices.Delete(c.events, 0, n)
	return taken
}

// Drops is what came to nothing since the start, by reason; every reason is
// there, at zero if need be.
func (c *Core) Drops() map[string]uint64 {
	d := c.window.Drops()
	d["raw_late"], d["raw_full"] = c.raw.late, c.raw.full
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
