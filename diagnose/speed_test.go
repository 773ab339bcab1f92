package diagnose_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// badDay is a fabric with jobs, their traffic and regions.
type badDay struct {
	graph   *topology.Graph
	size    int // of each dimension of a torus
	rng     *rand.Rand
	jobs    []schema.Job
	regions []schema.Region
	now     int64
	metrics []schema.Metric
	calm    func(schema.Metric, schema.LinkID) float32 // what a link shows outside of regions
	congest func([]schema.Series)                      // by metric: adds what those in regions show
	failing []schema.Failure                           // in every bad interval
}

func newDay(tb testing.TB, spec string, metrics ...schema.Metric) *badDay {
	tb.Helper()
	g, err := topology.Parse("bw", spec)
	if err != nil {
		tb.Fatal(err)
	}
	d := &badDay{graph: g, rng: rand.New(rand.NewPCG(1, 2)), now: 1_767_571_200e9, metrics: metrics}
	d.calm = func(schema.Metric, schema.LinkID) float32 { return d.rng.Float32() * 2 }
	return d
}

// newBadDay is a torus: of Blue Waters' size if that is 24.
func newBadDay(tb testing.TB, size, jobs, regions int) *badDay {
	tb.Helper()
	d := newDay(tb, fmt.Sprintf("torus:%dx%dx%d", size, size, size), schema.CreditStall, schema.InqStall, schema.BandwidthUsed)
	d.size, d.congest = size, d.congestBoxes
	for j := range jobs {
		job := schema.Job{ID: fmt.Sprint(j), Name: "work", Start: schema.Instant(d.now)}
		at, size := d.point(), []int{1 + d.rng.IntN(6), 1 + d.rng.IntN(6), 1 + d.rng.IntN(6)}
		if j%20 == 0 {
			size = []int{12, 8, 12}
		}
		d.box(at, size, func(device int) {
			job.Nodes = append(job.Nodes, d.graph.Device(topology.DeviceID(device)).Name)
		})
		d.jobs = append(d.jobs, job)
	}
	for r := range regions {
		region := schema.Region{ID: uint64(r + 1), Metric: schema.CreditStall, Mean: 30, Severity: schema.High}
		d.box(d.point(), []int{3, 3, 3}, func(device int) {
			region.Links = append(region.Links, schema.LinkID(3*device), schema.LinkID(3*device+1), schema.LinkID(3*device+2))
		})
		slices.Sort(region.Links)
		region.Size = len(region.Links)
		d.regions = append(d.regions, region)
	}
	return d
}

func (d *badDay) point() []int {
	return []int{d.rng.IntN(d.size), d.rng.IntN(d.size), d.rng.IntN(d.size)}
}

func (d *badDay) box(at, size []int, visit func(device int)) {
	for x := range size[0] {
		for y := range size[1] {
			for z := range size[2] {
				visit((at[0]+x)%d.size + d.size*((at[1]+y)%d.size+d.size*((at[2]+z)%d.size)))
			}
		}
	}
}

// interval returns the next one: with regions or calm.
func (d *badDay) interval(isBad bool) *schema.IntervalResult {
	links := d.graph.NumLinks()
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "bw", GraphVersion: d.graph.Version(), Links: links,
		Interval: schema.Interval{StartNanos: d.now, DurationNanos: 60e9}}}
	for _, m := range d.metrics {
		s := schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links), Count: links}
		for l := range links {
			s.Values[l] = d.calm(m, schema.LinkID(l))
			s.Valid.Set(l)
		}
		r.Snapshot.Series = append(r.Snapshot.Series, s)
	}
	if isBad {
		r.Regions = d.regions
		d.congest(r.Snapshot.Series)
		for _, f := range d.failing {
			f.Time = schema.Instant(d.now)
			r.Failures = append(r.Failures, f)
		}
	}
	for i := range d.jobs {
		v := func() *float64 {
			bytes := d.rng.ExpFloat64() * 1e10
			if isBad && i%7 == 0 {
				bytes *= 20
			}
			return &bytes
		}
		r.Traffic = append(r.Traffic, schema.JobTraffic{JobID: d.jobs[i].ID, Time: schema.Instant(d.now), Read: v(), Write: v(), RDMARead: v(), RDMAWrite: v()})
	}
	d.now += 60e9
	return r
}

func (d *badDay) congestBoxes(of []schema.Series) {
	for i := range d.regions {
		for _, l := range d.regions[i].Links {
			credit, inq, use := &of[0].Values[l], &of[1].Values[l], &of[2].Values[l]
			if *credit, *use = 25+10*d.rng.Float32(), 40+30*d.rng.Float32(); l%8 == 0 { // full, and others wait for it
				*credit, *inq, *use = 1, 50, 100
			}
		}
	}
}

func (d *badDay) warm(tb testing.TB) *diagnose.Stage {
	tb.Helper()
	stage, err := diagnose.New(d.graph, diagnose.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 60 {
		r := d.interval(i > 50)
		if i == 0 {
			r.Jobs = d.jobs
		}
		stage.Step(r)
	}
	return stage
}

// BenchmarkStep is all regions of a bad interval: every job has traffic that correlates.
func BenchmarkStep(b *testing.B) { stepThrough(b, newBadDay(b, 24, 200, 100)) }

// BenchmarkTenfold is the same on a fabric with ten times as many links and jobs and five times as many regions.
func BenchmarkTenfold(b *testing.B) { stepThrough(b, newBadDay(b, 51, 2000, 500)) }

// BenchmarkTree is the same on a fat tree where a hundred hosts receive more than their ports deliver.
func BenchmarkTree(b *testing.B) { stepThrough(b, newBadTree(b, 200, 100)) }

// BenchmarkFlood is BenchmarkTree while thousands of links fail at once, as when a plane loses power.
func BenchmarkFlood(b *testing.B) {
	d := newBadTree(b, 200, 100)
	for l := range schema.LinkID(d.graph.NumLinks()) {
		if at := d.graph.Link(l); l%8 == 0 {
			d.failing = append(d.failing, schema.Failure{Kind: schema.LinkFailed, Device: d.graph.Device(at.From).Name, Port: at.FromPort})
		}
	}
	stepThrough(b, d)
}

func stepThrough(b *testing.B, d *badDay) {
	b.Run(fmt.Sprintf("links=%d/jobs=%d/regions=%d", d.graph.NumLinks(), len(d.jobs), len(d.regions)), func(b *testing.B) {
		stage := d.warm(b)
		b.ReportAllocs()
		spent := 0.
		for b.Loop() {
			b.StopTimer()
			r := d.interval(true)
			began := cputime.Millis(b)
			b.StartTimer()
			stage.Step(r)
			spent += cputime.Millis(b) - began
		}
		b.ReportMetric(spent/float64(b.N), "cpu-ms/op") // not blurred by other load
		b.ReportMetric(float64(len(d.regions)*b.N)/b.Elapsed().Seconds(), "regions/s")
	})
}
