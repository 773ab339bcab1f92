package history

import (
	"math"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Limits are how much is remembered.
type Limits struct {
	Window int // intervals of failures and of links' levels
	MaxLag int // intervals by which traffic is remembered for longer than that
	Jobs   int // running or recently ended
}

// History is what is remembered of one fabric. It is not safe for concurrent use.
type History struct {
	Limits Limits
	graph  *topology.Graph
	router *routes.Router

	Clock    Clock
	jobs     *jobTable
	Failures []PlacedFailure // of the last window, by time
	memory   memory          // of links
	measured bool            // job traffic was received, so it need not be derived from links
	// The first slot with a row in the traffic table; math.MaxInt64: none.
	tableSince int64

	interval   uint32 // number of the current one; values that hold for one interval are cached with it
	running    []*Job // scratch of Running
	gaps       gaps
	averages   averages
	past       past
	Silent     []SilentCable   // cables that are dead by their counters in this interval
	quietLinks []schema.LinkID // scratch of FindSilent
	back       []schema.LinkID // by link: that of its cable in the other direction
}

// New returns an empty history of a fabric.
func New(g *topology.Graph, router *routes.Router, limits Limits) *History {
	h := &History{Limits: limits, jobs: newJobTable(), tableSince: math.MaxInt64}
	h.setGraph(g, router)
	return h
}

// setGraph empties what depends on the version of a fabric.
func (h *History) setGraph(g *topology.Graph, router *routes.Router) {
	h.graph, h.router, h.back, h.past, h.averages, h.gaps = g, router, nil, newPast(g.NumLinks()), averages{}, gaps{}
	h.memory = h.newMemory()
}

func (h *History) newMemory() memory {
	return memory{length: h.Limits.Window, links: h.graph.NumLinks()}
}

// SetGraph switches to another version of the fabric: moved[l] is the number in g of link l of the old
// version, or schema.NoLink.
func (h *History) SetGraph(g *topology.Graph, router *routes.Router, moved []schema.LinkID) {
	was := h.memory
	h.setGraph(g, router)
	for m, old := range was.metrics {
		if old == nil {
			continue
		}
		now := h.memory.of(schema.Metric(m))
		for slot := range int64(was.length) {
			from, to := old.Row(slot), now.Row(slot)
			for l, id := range moved {
				if id != schema.NoLink && l < len(from) && int(id) < len(to) {
					to[id] = from[l]
				}
			}
		}
	}
	for _, j := range h.jobs.all() {
		j.Place(g)
	}
	for i := range h.Failures {
		h.Failures[i].Place(g)
	}
}

// Learn adds an interval: jobs, failures, traffic and the state of the links. rateOf is the load of a link in it,
// bytes/s, -1 if it was not measured; nil: of none.
func (h *History) Learn(r *schema.IntervalResult, rateOf func(schema.LinkID) float64) {
	h.interval++
	last := h.tick(r.Snapshot.Interval)
	h.memory.follow(last, h.Clock.Now, r.Snapshot, h.capacity)
	h.AddJobs(r.Jobs)
	h.jobs.forget((h.Clock.Now-int64(h.TrafficLength()))*h.Clock.Duration, h.Limits.Jobs)
	h.AddFailures(r.Failures)
	h.takeTraffic(r.Traffic)
	if rateOf != nil && !h.graph.Duplex() {
		h.deriveTraffic(r.Snapshot.Interval, rateOf)
	}
}

// AddJobs adds or updates jobs. Pending jobs are ignored.
func (h *History) AddJobs(jobs []schema.Job) {
	for i := range jobs {
		h.jobs.upsert(h.graph, jobs[i])
	}
}

// capacity is that of a link, bytes/s; 0 if unknown.
func (h *History) capacity(link int) float64 { return h.graph.Capacity(schema.LinkID(link)) }

// tick advances the clock to an interval and returns the previous slot. If the length of intervals changes,
// everything remembered by slot is dropped.
func (h *History) tick(in schema.Interval) (last int64) {
	if h.Clock.Duration != in.DurationNanos {
		h.Clock = Clock{Duration: in.DurationNanos}
		h.Clock.Now = h.Clock.SlotOf(in.StartNanos)
		h.Clock.First = h.Clock.Now
		h.memory = h.newMemory()
		for _, j := range h.jobs.all() {
			j.Traffic = nil
		}
		return h.Clock.Now - 1
	}
	last = h.Clock.Now
	h.Clock.Now = max(last, h.Clock.SlotOf(in.StartNanos))
	return last
}

// Running lists the jobs with nodes in the fabric that run in the interval, by id; of a job that ended and began again
// in it, the last run. The list is valid until the next call.
func (h *History) Running() []*Job {
	from, to := h.Clock.Now*h.Clock.Duration, (h.Clock.Now+1)*h.Clock.Duration
	h.running = h.running[:0]
	for _, j := range h.jobs.all() {
		if int64(j.Start) >= to || j.End != 0 && int64(j.End) <= from || len(j.Devices) == 0 {
			continue
		}
		if n := len(h.running); n > 0 && h.running[n-1].ID == j.ID {
			h.running = h.running[:n-1]
		}
		h.running = append(h.running, j)
	}
	return h.running
}

// Jobs lists the running and recently ended jobs, by id and start. The history owns the list.
func (h *History) Jobs() []*Job { return h.jobs.all() }

// RoutesOf returns the routes of a job's traffic.
func (h *History) RoutesOf(j *Job) *routes.Set {
	if j.routes == nil {
		j.routes = h.router.Of(j.Devices)
	}
	return j.routes
}

// Fill returns a snapshot whose lost readings are filled.
func (h *History) Fill(snap *schema.Snapshot) *schema.Snapshot {
	return h.gaps.fill(snap, &h.memory, h.Clock.Now, h.capacity)
}

// LevelsOf returns what is remembered of a metric by link: a stall, or BandwidthUsed; nil if it was never measured.
func (h *History) LevelsOf(metric schema.Metric) *levels { return h.memory.metrics[metric] }

// Track returns what is remembered of a metric by link, from now on if it is not yet.
func (h *History) Track(metric schema.Metric) *levels { return h.memory.of(metric) }
