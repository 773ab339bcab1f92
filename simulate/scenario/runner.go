package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/simulate/telemetry"
	"github.com/giverny/giverny/topology"
)

// Runner plays a script, one interval at a time. It is not safe for concurrent
// use.
type Runner struct {
	script     *Script
	graph      *topology.Graph
	channels   *routing.Channels
	model      *fluid.Model
	source     *telemetry.Source
	network    network
	alloc      allocator
	generator  *generator // nil without a workload
	phases     *rand.Rand
	startNanos int64
	seed       uint64

	now        time.Duration
	actions    []scheduledAction // in the future
	pending    []Job             // in the future, by start
	streams    []stream          // all that ever existed; the owners of flows
	running    []*job
	events     []schema.Event
	changed    []schema.Job // started or ended within this interval
	failures   []schema.Failure
	past       []JobTraffic                           // of jobs that ended within this interval
	rerouteAt  time.Duration                          // negative: never
	failed     map[routing.Channel][]*scheduledAction // the failures that hold each channel down
	slowed     map[fluid.Resource]float64
	throttling throttling

	groups []*fluid.Flows
	state  fluid.State // of the last solution
	mean   fluid.State // over the interval
	truth  truthBuilder
}

// Step is an interval of a story. Its contents are valid until the next Step.
type Step struct {
	Interval schema.Interval
	Batches  []*schema.CounterBatch // what the devices report
	Events   []schema.Event         // from the logs and the script
	Jobs     []schema.Job           // from the scheduler: jobs that started or ended
	Failures []schema.Failure       // from the fabric's log: failures and recoveries of links, switches and nodes; congestion protection
	Traffic  []JobTraffic           // as measured by the nodes of each running job
	Truth    *Truth                 // not reported by any device
}

// New prepares a story that starts at startNanos. A nil graph means the script's own
// topology.
func New(graph *topology.Graph, script *Script, seed uint64, startNanos int64) (*Runner, error) {
	if err := script.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", script.Name, err)
	}
	r := &Runner{script: script, graph: graph, seed: seed, startNanos: schema.IntervalAt(startNanos, int64(script.Interval)).StartNanos,
		rerouteAt: -1, failed: map[routing.Channel][]*scheduledAction{}, slowed: map[fluid.Resource]float64{}}
	if err := r.build(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", script.Name, err)
	}
	return r, nil
}

func (r *Runner) build() (err error) {
	f := &r.script.Fabric
	if r.graph == nil {
		if r.graph, err = topology.Parse(f.Name, f.Topology); err != nil {
			return err
		}
	}
	r.channels = routing.NewChannels(r.graph)
	cfg := fluid.DefaultConfig()
	cfg.VictimRatio = f.VictimRatio
	if r.model, err = fluid.New(r.channels, cfg); err != nil {
		return err
	}
	for d := range topology.DeviceID(r.graph.NumDevices()) {
		n := f.nicsOf(r.graph, d)
		r.model.SetNIC(d, n.send, n.receive)
	}
	if r.source, err = telemetry.New(r.channels, r.telemetryConfig(), rand.New(rand.NewPCG(r.seed, 'n')), r.startNanos); err != nil {
		return err
	}
	if r.actions, err = resolve(r.script, r.channels); err != nil {
		return err
	}
	r.alloc = newAllocator(r.graph, rand.New(rand.NewPCG(r.seed, 'p')))
	if err = r.wire(f); err != nil {
		return err
	}
	r.pending = slices.Clone(r.script.Jobs)
	slices.SortStableFunc(r.pending, func(a, b Job) int { return int(a.Start - b.Start) })
	if w := r.script.Workload; w != nil {
		r.generator = newGenerator(w, len(r.alloc.hosts), rand.New(rand.NewPCG(r.seed, 'w')))
	}
	r.phases = rand.New(rand.NewPCG(r.seed, 'f'))
	r.truth = newTruthBuilder(r)
	return r.reserve()
}

func (r *Runner) wire(f *Fabric) (err error) {
	r.network = network{model: r.model}
	if r.network.router, err = routing.New(r.channels, f.Routing); err != nil {
		return err
	}
	if r.network.healthy, err = routing.New(routing.NewChannels(r.graph), f.Routing); err != nil {
		return err
	}
	if f.Storage.Hosts != "" {
		if r.network.storage, err = hostList(r.alloc.graph, f.Storage.Hosts); err != nil {
			return fmt.Errorf("storage: %w", err)
		}
	}
	if every := f.Storage.Every; every > 0 {
		for i := f.Storage.First; i < len(r.alloc.hosts); i += every {
			r.network.storage = append(r.network.storage, r.alloc.hosts[i])
		}
	}
	for _, d := range r.network.storage {
		r.alloc.storage[d] = true
	}
	return nil
}

// reserve checks before the story begins that its jobs fit the fabric and do not
// overlap, and reserves the nodes of jobs with a given place against the workload.
func (r *Runner) reserve() error {
	tenants := map[topology.DeviceID][]*Job{}
	for i := range r.pending {
		j := &r.pending[i]
		probe := newAllocator(r.graph, rand.New(rand.NewPCG(0, 0)))
		probe.storage = r.alloc.storage
		p, err := probe.place(j)
		if err != nil {
			return err
		}
		if j.Nodes > 0 {
			continue
		}
		for _, d := range p.present() {
			for _, o := range tenants[d] {
				if o.Start < j.End && j.Start < o.End {
					return fmt.Errorf("jobs %q and %q both use node %q at the same time", o.ID, j.ID, r.graph.Device(d).Name)
				}
			}
			tenants[d] = append(tenants[d], j)
			r.alloc.reserved[d] = true
		}
	}
	return nil
}

func (r *Runner) telemetryConfig() telemetry.Config {
	c := telemetry.DefaultConfig(r.script.Fabric.Kind)
	t := &r.script.Telemetry
	for _, o := range []struct{ from, to *float64 }{{t.FloorPercent, &c.FloorPercent}, {t.WavePercent, &c.WavePercent}, {t.SpreadPercent, &c.SpreadPercent}} {
		if o.from != nil {
			*o.to = *o.from
		}
	}
	c.LossShare, c.LateShare, c.SkewMicros = t.LossPercent/100, t.LatePercent/100, t.SkewMillis*1e3
	return c
}

// Graph returns the fabric of the story.
func (r *Runner) Graph() *topology.Graph { return r.graph }

// Script returns the story.
func (r *Runner) Script() *Script { return r.script }

// End is the instant up to which the story has been played.
func (r *Runner) End() schema.Instant { return schema.Instant(r.nanos(r.now)) }

// HasDayFiles reports whether the story can be stored as Blue Waters day files.
func (r *Runner) HasDayFiles() bool {
	grid := r.graph.Grid()
	return r.script.Fabric.Kind == telemetry.Gemini && grid != nil && len(grid.Dims) == 3
}

// Step plays the next interval; it returns false when the story is over.
func (r *Runner) Step() (Step, bool) {
	if r.now+r.script.Interval > r.script.Duration {
		return Step{}, false
	}
	interval := schema.Interval{StartNanos: r.nanos(r.now), DurationNanos: int64(r.script.Interval)}
	step := Step{Interval: interval}
	if r.now == 0 {
		for _, b := range r.source.Baseline(interval) {
			step.Batches = append(step.Batches, clone(b)) // Read below reuses their memory
		}
	}
	r.events, r.changed, r.failures, r.past = r.events[:0], nil, nil, nil
	r.truth.reset()
	for _, j := range r.running {
		j.traffic = JobTraffic{JobID: j.ID}
	}
	parts := int(r.script.Interval / r.script.Step)
	for part := range parts {
		r.advance()
		r.solve()
		r.mean.Average(&r.state, part)
		r.truth.add()
		r.measure(1 / float64(parts))
		r.protect()
		r.now += r.script.Step
	}
	step.Batches = append(step.Batches, r.source.Read(&r.mean, interval)...)
	step.Traffic = r.past
	for _, j := range r.running {
		step.Traffic = append(step.Traffic, j.traffic)
	}
	step.Events, step.Jobs, step.Failures, step.Truth = r.events, r.changed, r.failures, r.truth.finish(interval, &r.mean)
	return step, true
}

func (r *Runner) nanos(at time.Duration) int64 { return r.startNanos + int64(at) }

// advance performs all actions up to now.
func (r *Runner) advance() {
	for len(r.actions) > 0 && r.actions[0].after <= r.now {
		r.act(&r.actions[0], r.now)
		r.actions = r.actions[1:]
	}
	for _, j := range slices.Clone(r.running) {
		if j.End <= r.now {
			r.end(j, r.now, false)
		}
	}
	for len(r.pending) > 0 && r.pending[0].Start <= r.now {
		if err := r.begin(r.pending[0]); err != nil {
			r.events = append(r.events, schema.Event{TimeNanos: r.nanos(r.now), Fabric: r.graph.Fabric(), Kind: schema.Story,
				JobID: r.pending[0].ID, Detail: "not started: " + err.Error()})
		}
		r.pending = r.pending[1:]
	}
	for r.generator != nil && len(r.running) < r.script.Workload.Jobs && r.beginDrawn() {
	}
	if r.rerouteAt >= 0 && r.rerouteAt <= r.now {
		r.rerouteAt = -1
		r.network.broken = len(r.failed) > 0
		for _, j := range r.running {
			r.routeFlows(j)
		}
	}
}

// beginDrawn starts a job of the workload, smaller than drawn if necessary; false if
// there is no room at all.
func (r *Runner) beginDrawn() bool {
	for j := r.generator.draw(r.now, r.script.Step); j.Nodes > 0; j.Nodes /= 2 {
		if r.begin(j) == nil {
			return true
		}
	}
	return false
}

// solve computes the rates at the middle of the step.
func (r *Runner) solve() {
	r.groups = r.groups[:0]
	at := r.now + r.script.Step/2
	for _, j := range r.running {
		for i, f := range j.flows {
			f.Scale = j.Traffic[i].scale(at-j.Start, min(j.End, r.script.Duration)-j.Start, r.streams[f.Owner].phase)
			r.groups = append(r.groups, f)
		}
	}
	r.model.Solve(r.groups, &r.state)
}

func clone(b *schema.CounterBatch) *schema.CounterBatch {
	c := *b
	c.Ports, c.TimeNanos, c.PortIndex = slices.Clone(b.Ports), slices.Clone(b.TimeNanos), slices.Clone(b.PortIndex)
	c.Columns = slices.Clone(b.Columns)
	for i := range c.Columns {
		c.Columns[i].Values = slices.Clone(b.Columns[i].Values)
	}
	return &c
}
