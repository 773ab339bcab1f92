package diagnose_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// plant is a fabric that the tests drive by hand: they set what its links and jobs do in an interval, and its
// regions.
type plant struct {
	t       testing.TB
	graph   *topology.Graph
	stage   *diagnose.Stage
	rng     *rand.Rand
	start   int64
	slot    int
	stall   map[schema.LinkID]float64
	use     map[schema.LinkID]float64
	hasUse  bool
	root    *schema.Root       // of its regions
	silent  string             // a switch without readings of its egress links
	moved   map[string]float64 // bytes of RDMA reads by job; default usual
	filed   map[string]float64 // of these, from files
	regions [][]schema.LinkID
	pending schema.IntervalResult
	traffic bool
	absent  string // a job without rows in the traffic table
	jobs    []string
}

const minute = int64(60e9)

func newPlant(t testing.TB, spec string) *plant {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return plantOn(t, g)
}

func plantOn(t testing.TB, g *topology.Graph) *plant {
	t.Helper()
	stage, err := diagnose.New(g, diagnose.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &plant{t: t, graph: g, stage: stage, rng: rand.New(rand.NewPCG(1, 1)), start: 1_767_571_200e9, traffic: true,
		stall: map[schema.LinkID]float64{}, use: map[schema.LinkID]float64{}, moved: map[string]float64{}, filed: map[string]float64{}}
}

func (p *plant) now() schema.Instant { return schema.Instant(p.start + int64(p.slot)*minute) }

// job adds a job that begins now.
func (p *plant) job(id string, nodes ...string) {
	p.pending.Jobs = append(p.pending.Jobs, schema.Job{ID: id, Name: "job" + id, Nodes: nodes, Start: p.now()})
	p.jobs = append(p.jobs, id)
}

func (p *plant) fails(kind schema.EventKind, device, port string) {
	p.pending.Failures = append(p.pending.Failures, schema.Failure{Time: p.now() + 1, Kind: kind, Device: device, Port: port})
}

// link is the link that leaves a port.
func (p *plant) link(device, port string) schema.LinkID {
	p.t.Helper()
	ports, ok := p.graph.FindPort(device, port)
	if !ok {
		p.t.Fatalf("no port %s of %s", port, device)
	}
	return ports.Egress
}

// usual is a job's default traffic in a minute, bytes.
const usual = 1e9

// step plays intervals and returns the diagnoses of the last one.
func (p *plant) step(times int) []schema.Diagnosis {
	p.t.Helper()
	var out []schema.Diagnosis
	for range times {
		r := p.pending
		p.pending = schema.IntervalResult{}
		r.Snapshot = p.snapshot()
		for _, id := range p.jobs {
			bytes, told := p.moved[id]
			if !told {
				bytes = usual
			}
			bytes *= 1 + .05*p.rng.NormFloat64()
			files, writes := p.filed[id], usual*(1+.05*p.rng.NormFloat64())
			zero := 0.
			if p.traffic && id != p.absent {
				r.Traffic = append(r.Traffic, schema.JobTraffic{JobID: id, Time: p.now(), Read: &files, Write: &zero, RDMARead: &bytes, RDMAWrite: &writes})
			}
		}
		for i, links := range p.regions {
			links = slices.Clone(links)
			slices.Sort(links)
			sum := 0.
			for _, l := range links {
				sum += p.stall[l]
			}
			mean := sum / float64(len(links))
			r.Regions = append(r.Regions, schema.Region{ID: uint64(i + 1), Metric: schema.CreditStall, Links: links, Size: len(links), Mean: mean, Severity: schema.SeverityOf(mean), Root: p.root})
		}
		p.stage.Step(&r)
		out = r.Diagnoses
		p.slot++
	}
	return out
}

func (p *plant) snapshot() *schema.Snapshot {
	n := p.graph.NumLinks()
	snap := &schema.Snapshot{Fabric: "test", GraphVersion: p.graph.Version(), Links: n, Interval: schema.Interval{StartNanos: int64(p.now()), DurationNanos: minute}}
	add := func(m schema.Metric, values map[schema.LinkID]float64, floor float64) {
		s := schema.Series{Metric: m, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
		for l := range n {
			v, set := values[schema.LinkID(l)]
			if !set {
				v = floor * p.rng.Float64()
			}
			if from, _ := p.graph.Ends(schema.LinkID(l)); p.graph.Device(from).Name == p.silent {
				s.Count--
				continue
			}
			s.Values[l] = float32(v)
			s.Valid.Set(l)
		}
		snap.Series = append(snap.Series, s)
	}
	add(schema.CreditStall, p.stall, 1)
	if p.hasUse {
		add(schema.BandwidthUsed, p.use, 10)
	}
	return snap
}

// congest adds a region of links that stall.
func (p *plant) congest(percent float64, links ...schema.LinkID) {
	for _, l := range links {
		p.stall[l] = percent
	}
	p.regions = append(p.regions, links)
}

// box lists the switches of a block of a torus.
func box(x, y, z, dx, dy, dz int) (nodes []string) {
	for i := range dx {
		for j := range dy {
			for k := range dz {
				nodes = append(nodes, fmt.Sprintf("%d,%d,%d", x+i, y+j, z+k))
			}
		}
	}
	return nodes
}

// within lists the links of a torus with both ends among the nodes.
func (p *plant) within(nodes []string) (links []schema.LinkID) {
	for l := range schema.LinkID(p.graph.NumLinks()) {
		from, to := p.graph.Ends(l)
		if slices.Contains(nodes, p.graph.Device(from).Name) && slices.Contains(nodes, p.graph.Device(to).Name) {
			links = append(links, l)
		}
	}
	return links
}

func hosts(from, to int) (names []string) {
	for h := from; h <= to; h++ {
		names = append(names, fmt.Sprintf("host%d", h))
	}
	return names
}
