package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// hostile draws what an envelope accepts and no honest sender sends.
type hostile struct {
	*rand.Rand
	graph *topology.Graph
	names []string
}

func newHostile(seed uint64, g *topology.Graph) *hostile {
	h := &hostile{rand.New(rand.NewPCG(seed, 1)), g, []string{"", "x", "'; DROP TABLE jobs", "\x00", "a/b@1", "é́", "leaf1 leaf2"}}
	for d := range topology.DeviceID(g.NumDevices()) {
		h.names = append(h.names, g.Device(d).Name)
	}
	return h
}

func (h *hostile) name() string { return h.names[h.IntN(len(h.names))] }

func (h *hostile) port() string {
	if h.IntN(4) == 0 {
		return h.name()
	}
	return h.graph.Link(schema.LinkID(h.IntN(h.graph.NumLinks()))).FromPort
}

// time is mostly near now.
func (h *hostile) time(now int64) int64 {
	switch h.IntN(12) {
	case 0:
		return []int64{0, 1, -1, math.MinInt64, math.MaxInt64, now - 1e18, now + 1e18, now + 3599*second}[h.IntN(8)]
	case 1:
		return now + (h.Int64N(7200)-3600)*second
	}
	return now + h.Int64N(5*second) - 2*second
}

func (h *hostile) bytes() *float64 {
	v := []float64{0, math.Copysign(0, -1), 1e-300, 1e6, 1e19, h.Float64() * 1e12}[h.IntN(6)]
	if h.IntN(3) == 0 {
		return nil
	}
	return &v
}

func (h *hostile) feeds(core *analysis.Core, now int64) {
	id := fmt.Sprint("job", h.IntN(6))
	nodes := []string{}
	for range h.IntN(8) {
		nodes = append(nodes, h.name())
	}
	start := schema.Instant(max(h.time(now), 0))
	end := schema.Instant(0)
	if h.IntN(2) == 0 {
		end = schema.Instant(max(int64(start), h.time(now)))
	}
	appended := []int64{0, now}[h.IntN(2)]
	core.AddJobs([]schema.Job{{Fabric: "f", ID: id, Name: h.name(), User: h.name(), Nodes: nodes, Start: start, End: end, State: h.name()}}, appended)
	core.AddTraffic([]schema.JobTraffic{{Fabric: "f", JobID: id, Time: schema.Instant(h.time(now)), Read: h.bytes(), Write: h.bytes(), RDMARead: h.bytes(), RDMAWrite: h.bytes()}}, appended)
	kinds := append(schema.FailureKinds(), schema.LinkFlapping, schema.LinkErrors, schema.GraphChanged, schema.RegionMerged, schema.RegionEnded, schema.SwitchSilent, schema.NodeReporting, schema.CongestionBegan, schema.MitigationEnded, "nonsense")
	core.AddFailures([]schema.Failure{{Fabric: "f", Time: schema.Instant(h.time(now)), Kind: kinds[h.IntN(7)], Device: h.name(), Port: h.port(), Detail: h.name()}}, appended)
	core.AddEvents([]schema.Event{{Fabric: "f", TimeNanos: h.time(now), Kind: kinds[h.IntN(len(kinds))], Device: h.name(), Port: h.port(), RegionID: h.Uint64(), JobID: id, Detail: h.name()}}, appended)
}

func (h *hostile) value(n int) uint64 {
	switch h.IntN(16) {
	case 0:
		return []uint64{0, math.MaxUint32, math.MaxUint64, math.MaxInt64, 1 << 24}[h.IntN(5)]
	case 1:
		return h.Uint64()
	}
	return uint64(n) * uint64(h.IntN(1_000_000_000))
}

// batch has some counters of some ports, at any times.
func (h *hostile) batch(n int, now int64) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "f", Source: "test", Agent: fmt.Sprint("agent", h.IntN(3)), Sequence: []uint64{uint64(n), 0, 1, math.MaxUint64, h.Uint64()}[h.IntN(5)], Epoch: uint64(h.IntN(3)), IntervalNanos: h.time(0)}
	counters := schema.Counters()
	taken := map[string]bool{}
	for range 1 + h.IntN(6) {
		if c := counters[h.IntN(len(counters))].Name; !taken[c] {
			taken[c] = true
			b.Columns = append(b.Columns, schema.CounterColumn{Name: c})
		}
	}
	if h.IntN(3) == 0 {
		b.Columns = append(b.Columns, schema.CounterColumn{Name: schema.TickColumn}, schema.CounterColumn{Name: "vendor.mystery"})
	}
	rows := h.IntN(2 * h.graph.NumLinks())
	for row := range rows {
		l := h.graph.Link(schema.LinkID(h.IntN(h.graph.NumLinks())))
		p := schema.PortName{Device: h.graph.Device(l.From).Name, Port: l.FromPort}
		if h.IntN(9) == 0 {
			p = schema.PortName{Device: h.name(), Port: h.port()}
		}
		b.Ports, b.PortIndex, b.TimeNanos = append(b.Ports, p), append(b.PortIndex, uint32(row)), append(b.TimeNanos, max(h.time(now), 0))
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, h.value(n))
		}
	}
	for c := range b.Columns {
		if h.IntN(3) == 0 {
			b.Columns[c].Valid = schema.NewBitmap(rows)
			for row := range rows {
				if h.IntN(3) > 0 {
					b.Columns[c].Valid.Set(row)
				}
			}
		}
	}
	return b
}

// Nothing that passes the checks of an envelope stops the analysis: it would read the same again after each restart.
func TestHostileInput(t *testing.T) {
	diagnoses := 0
	for _, spec := range []string{"torus:4x4x4", "fattree:leaves=4,hosts=4,spines=2", "dragonfly:groups=3,routers=2,hosts=1"} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%s/%d", spec, seed), func(t *testing.T) { diagnoses += playHostile(t, newHostile(seed, newGraph(t, spec))) })
		}
	}
	if diagnoses == 0 {
		t.Error("there was nothing to diagnose")
	}
}

// playHostile mixes it with honest polls, and restarts now and then from a saved state.
func playHostile(t *testing.T, h *hostile) (diagnoses int) {
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval = time.Second
	core, err := analysis.New(h.graph, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &fabric{graph: h.graph}
	for n := range 60 {
		now := 1_700_000_000*second + int64(n)*second
		if h.IntN(3) > 0 {
			add(t, core, f.poll(now, hotQuarter(h.graph)))
		}
		for range h.IntN(3) {
			add(t, core, h.batch(n, now))
			h.feeds(core, now)
		}
		for _, r := range results(core, now) {
			diagnoses += len(r.Diagnoses)
			if r.Saved == nil || h.IntN(2) == 0 {
				continue
			}
			if core, err = analysis.New(h.graph, cfg); err == nil {
				err = core.Load(r.Snapshot.Interval, r.Saved)
			}
			if err == nil {
				err = core.Resume([]analysis.Interval{{Interval: r.Snapshot.Interval, Graph: h.graph, Regions: r.Regions, Snapshot: r.Snapshot}})
			}
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	return diagnoses
}
