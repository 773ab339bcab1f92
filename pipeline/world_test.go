package pipeline

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// world has agents with clocks of their own, a broker whose clock is right, and
// the broker's log. The true time is that of the synctest bubble.
type world struct {
	graph  *topology.Graph
	agents []*agent
	down   func(second int) bool // whether the broker is away; may be nil
	silent bool                  // agents do not say when they send

	mu        sync.Mutex // guards what follows
	log       []logged
	committed int64 // offset of the first record that is not
	away      bool
}

// agent reads the devices from first to last.
type agent struct {
	name        string
	first, last int
	ahead       func(second int) time.Duration // of its clock; may be nil
	spool       []*schema.CounterBatch
}

type logged struct {
	batch *schema.CounterBatch
	times clockcheck.Times
}

// newWorld returns a world of three agents, the first of which reads more than half of the devices.
func newWorld(g *topology.Graph) *world {
	n := g.NumDevices()
	return &world{graph: g, agents: []*agent{{name: "a", last: n * 6 / 10}, {name: "b", first: n * 6 / 10, last: n * 8 / 10}, {name: "c", first: n * 8 / 10, last: n}}}
}

// everyone sets the clocks of all agents.
func (w *world) everyone(ahead func(second int) time.Duration) *world {
	for _, a := range w.agents {
		a.ahead = ahead
	}
	return w
}

// run polls every second for some seconds, as a host's agent does.
func (w *world) run(seconds int) {
	for s := range seconds {
		w.second(s)
		time.Sleep(time.Second)
	}
}

func (w *world) second(s int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = w.down != nil && w.down(s)
	for _, a := range w.agents {
		ahead := time.Duration(0)
		if a.ahead != nil {
			ahead = a.ahead(s)
		}
		clock := time.Now().Add(ahead).UnixNano()
		a.spool = append(a.spool, w.poll(a, s, clock))
		if w.away {
			continue
		}
		for _, b := range a.spool {
			times := clockcheck.Times{SentNanos: clock, AppendedNanos: time.Now().UnixNano()}
			if w.silent {
				times.SentNanos = 0
			}
			w.log = append(w.log, logged{b, times})
		}
		a.spool = nil
	}
}

// poll returns what an agent reads.
func (w *world) poll(a *agent, s int, clock int64) *schema.CounterBatch {
	all := poll(w.graph, s)
	b := &schema.CounterBatch{Fabric: all.Fabric, Source: all.Source, Agent: a.name, Sequence: all.Sequence, IntervalNanos: all.IntervalNanos,
		Columns: []schema.CounterColumn{{Name: all.Columns[0].Name}}}
	for i, p := range all.Ports {
		if d, _ := w.graph.FindDevice(p.Device); int(d) < a.first || int(d) >= a.last {
			continue
		}
		b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
		b.Ports, b.TimeNanos = append(b.Ports, p), append(b.TimeNanos, clock)
		b.Columns[0].Values = append(b.Columns[0].Values, all.Columns[0].Values[i])
	}
	return b
}

// links returns the links that an agent reads at one end at least.
func (w *world) links(a *agent) (list []int) {
	for id := range schema.LinkID(w.graph.NumLinks()) {
		l := w.graph.Link(id)
		if f, t := int(l.From), int(l.To); f >= a.first && f < a.last || t >= a.first && t < a.last {
			list = append(list, int(id))
		}
	}
	return list
}

// logConsumer is a source of the world's log and of the clock that closes intervals.
type logConsumer struct{ world *world }

func (*logConsumer) Name() string { return "log" }

func (c *logConsumer) Commit(_ context.Context, offset int64) error {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.world.committed = max(c.world.committed, offset+1)
	return nil
}

func (c *logConsumer) Run(ctx context.Context, in *Intake) error {
	c.world.mu.Lock()
	next := c.world.committed
	c.world.mu.Unlock()
	for ctx.Err() == nil {
		asked := time.Now().UnixNano()
		c.world.mu.Lock()
		records, away := c.world.log[next:], c.world.away
		c.world.mu.Unlock()
		for _, r := range records {
			if err := in.CountersTimed(c, r.batch, next, r.times); err != nil {
				return err
			}
			next++
		}
		if !away {
			if err := in.Advance(asked, asked); err != nil {
				return err
			}
		}
		time.Sleep(125 * time.Millisecond)
	}
	return nil
}

const testTolerance = 30 * time.Second // of the default configuration at intervals of a second

// noFuture is a sink that measures how far intervals end after the true time.
type noFuture struct {
	sink
	worst time.Duration
}

func (n *noFuture) Put(ctx context.Context, r *schema.IntervalResult) error {
	n.mu.Lock()
	n.worst = max(n.worst, time.Until(time.Unix(0, r.Snapshot.Interval.EndNanos())))
	n.mu.Unlock()
	return n.sink.Put(ctx, r)
}

// played is a world's outcome.
type played struct {
	rig   *rig
	out   *noFuture
	began int64
}

// play runs a world for some seconds and restarts the analysis, on the same store
// and log, at each of the given seconds.
func play(t *testing.T, w *world, seconds int, restarts ...int) *played {
	t.Helper()
	p := &played{rig: newRig(), out: &noFuture{sink: sink{name: "out"}}, began: time.Now().UnixNano()}
	var wg sync.WaitGroup
	wg.Go(func() { w.run(seconds) })
	at := 0
	for _, until := range append(slices.Clone(restarts), seconds) {
		f := p.rig.fabric(t, w.graph, one(&logConsumer{w}), p.out)
		runFor(t, time.Duration(until-at)*time.Second, f)
		at = until
	}
	wg.Wait()
	return p
}

// seconds returns the stored intervals as seconds of the world.
func (p *played) seconds() (list []int) {
	for _, start := range startsOf(p.rig.store.stored("f")) {
		list = append(list, int((start-p.began)/second))
	}
	return list
}

// newest returns the last stored interval.
func (p *played) newest() int {
	list := p.seconds()
	if len(list) == 0 {
		return -1
	}
	return list[len(list)-1]
}

// panics returns how often the run failed.
func (p *played) panics() float64 {
	return testutil.ToFloat64(p.rig.metrics.faults.WithLabelValues("f", partAnalysis))
}

func (p *played) dropped(reason string) float64 {
	return testutil.ToFloat64(p.rig.metrics.dropped.WithLabelValues("f", reason))
}

// between is a clock that is off from one second to another.
func between(from, to int, ahead time.Duration) func(int) time.Duration {
	return func(s int) time.Duration {
		if s >= from && s < to {
			return ahead
		}
		return 0
	}
}
