package history

import (
	"fmt"
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Traffic missing from the table is derived from hosts' links: what a job's nodes send beyond what they receive leaves
// the job, what they send each other does not. Values of the table replace derived ones.
func TestTrafficByHostsLinks(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	h := remembers(g)
	h.tick(schema.Interval{DurationNanos: 60e9})
	for _, j := range []schema.Job{{ID: "writes", Nodes: []string{"host0", "host1"}}, {ID: "exchanges", Nodes: []string{"host2", "host3"}}} {
		j.Start = 1
		h.AddJobs([]schema.Job{j})
	}
	uses := map[string]float64{"host0>leaf0": 40, "host1>leaf0": 40, "leaf0>host0": 10, "leaf0>host1": 10, "host2>leaf1": 60, "host3>leaf1": 5, "leaf1>host3": 55, "leaf1>host2": 5}
	snap, _ := roottest.Snapshot(t, g, nil, uses)
	snap.Interval.DurationNanos = 60e9
	h.deriveTraffic(snap.Interval, rates(snap, g))
	is := func(id string, f Feature, percent float64) {
		t.Helper()
		want := percent / 100 * g.Capacity(0) * 60
		if got := float64(h.jobs.byID[id][0].Traffic.At(f, 0)); !(got > .999*want-1 && got < 1.001*want+1) {
			t.Errorf("%s of %s: %g bytes, want %g", f, id, got, want)
		}
	}
	is("writes", Write, 60)
	is("writes", Read, 0)
	is("writes", RDMAWrite, 80)
	is("exchanges", Write, 0)
	is("exchanges", Read, 0)
	is("exchanges", RDMARead, 60)

	snap.Series[1].Valid.Unset(int(roottest.Link(t, g, "leaf0>host1")))
	h.jobs.byID["writes"][0].Traffic = nil
	h.deriveTraffic(snap.Interval, rates(snap, g))
	if got := h.jobs.byID["writes"][0].Traffic.At(Write, 0); !IsMissing(got) {
		t.Errorf("a reading is missing, and %g bytes were written", got)
	}
	bytes := 7.
	h.takeTraffic([]schema.JobTraffic{{JobID: "writes", RDMAWrite: &bytes}})
	h.deriveTraffic(snap.Interval, rates(snap, g))
	if got := h.jobs.byID["writes"][0].Traffic.At(RDMAWrite, 0); got != 7 {
		t.Errorf("the table says 7 bytes, not %g", got)
	}
	is("exchanges", RDMARead, 60)
	is("writes", RDMARead, 10) // of which the table has nothing

	snap.Series[1].Valid.Set(int(roottest.Link(t, g, "leaf0>host1")))
	all := 80. / 100 * g.Capacity(0) * 60
	for rdma, percent := range map[*float64]float64{&bytes: 0, &all: 60} { // the table counts it as RDMA, or is not measured alike
		h.jobs.byID["writes"][0].Traffic = nil
		h.takeTraffic([]schema.JobTraffic{{JobID: "writes", Write: new(float64), RDMAWrite: rdma}})
		h.deriveTraffic(snap.Interval, rates(snap, g))
		is("writes", Write, percent)
	}

	again := remembers(g)
	if err := reload(h, again); err != nil {
		t.Fatal(err)
	}
	if !again.jobs.byID["writes"][0].Traffic.Listed[RDMAWrite] || again.jobs.byID["writes"][0].Traffic.Listed[RDMARead] || again.jobs.byID["exchanges"][0].Traffic.Listed[RDMAWrite] {
		t.Error("after a restart other values are the table's")
	}
}

// What leaves a large job is known though a few of its hosts' links gave no reading.
func TestTrafficOfAJobWithoutAReading(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=10,spines=1")
	h := remembers(g)
	h.tick(schema.Interval{DurationNanos: 60e9})
	j, uses := schema.Job{ID: "writes", Start: 1}, map[string]float64{}
	for i := range 10 {
		host := fmt.Sprintf("host%d", i)
		j.Nodes = append(j.Nodes, host)
		uses[host+">leaf0"], uses["leaf0>"+host] = 40, 10
	}
	h.AddJobs([]schema.Job{j})
	snap, _ := roottest.Snapshot(t, g, nil, uses)
	snap.Interval.DurationNanos = 60e9
	for missing, known := range []bool{true, true, false} { // all, 9 and 8 of 10 hosts
		if missing > 0 {
			snap.Series[1].Valid.Unset(int(roottest.Link(t, g, fmt.Sprintf("leaf0>host%d", missing))))
		}
		h.jobs.byID["writes"][0].Traffic = nil
		h.deriveTraffic(snap.Interval, rates(snap, g))
		want, got := .3*float64(10-missing)*g.Capacity(0)*60, float64(h.jobs.byID["writes"][0].Traffic.At(Write, 0))
		if isKnown := got > .999*want && got < 1.001*want; isKnown != known {
			t.Errorf("%d readings are missing: %g bytes written, want %g", missing, got, want)
		}
	}
}

// A lost reading of a job's receiver does not make what the others send it leave the job: the receiver takes as much as
// in the interval before.
func TestALostReadingLeavesNothing(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=10,spines=1")
	h := remembers(g)
	j, uses := schema.Job{ID: "gathers", Start: 1}, map[string]float64{"host0>leaf0": 0, "leaf0>host0": 90}
	for i := range 10 {
		host := fmt.Sprintf("host%d", i)
		j.Nodes = append(j.Nodes, host)
		if i > 0 {
			uses[host+">leaf0"], uses["leaf0>"+host] = 10, 0
		}
	}
	snap, _ := roottest.Snapshot(t, g, nil, uses)
	for minute := range int64(2) {
		snap.Interval = schema.Interval{StartNanos: minute * 60e9, DurationNanos: 60e9}
		if minute == 1 {
			snap.Series[1].Valid.Unset(int(roottest.Link(t, g, "leaf0>host0")))
		}
		h.Learn(&schema.IntervalResult{Snapshot: snap, Jobs: []schema.Job{j}}, rates(snap, g))
		if left := h.jobs.byID["gathers"][0].Traffic.At(Write, minute); left != 0 {
			t.Errorf("minute %d: %g bytes left the job, want 0", minute, left)
		}
	}
}

// A table that counts as RDMA no more than a job's nodes exchange does not count what its hosts send elsewhere: that is
// another job's, and the job writes what the table says. A table without RDMA says nothing of it.
func TestTheTableCountsTheExchangeOnly(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	uses := map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50, "leaf0>host0": 25, "leaf0>host1": 25}
	snap, _ := roottest.Snapshot(t, g, nil, uses)
	snap.Interval.DurationNanos = 60e9
	capacity := g.Capacity(0) * 60
	for _, c := range []struct{ counted, want float64 }{{.5, 0}, {1, .5}, {-1, .5}} { // what the nodes exchange, all that they send, and no RDMA
		h := remembers(g)
		h.tick(snap.Interval)
		h.AddJobs([]schema.Job{{ID: "1", Nodes: []string{"host0", "host1"}, Start: 1}})
		row := schema.JobTraffic{JobID: "1", Write: new(float64)}
		if bytes := c.counted * capacity; bytes >= 0 {
			row.RDMAWrite = &bytes
		}
		h.takeTraffic([]schema.JobTraffic{row})
		h.deriveTraffic(snap.Interval, rates(snap, g))
		if got := float64(h.jobs.byID["1"][0].Traffic.At(Write, 0)); math.Abs(got-c.want*capacity) > .001*capacity {
			t.Errorf("the table counts %g of a port: it wrote %g, want %g", c.counted, got/capacity, c.want)
		}
	}
}

// The bisection cuts distinguish an all-to-all exchange from many senders to one.
func TestCuts(t *testing.T) {
	const n = 16
	even, one := make([]float64, n), make([]float64, n)
	for i := range n {
		even[i] = 1e9
	}
	one[3] = n * 1e9
	exchange, sink := cuts(even, even)
	if share := 2. * 8 * 8 / (16 * 15); math.Abs(exchange-share*n*1e9) > 1 || sink != 0 {
		t.Errorf("all to all: %v exchanged, %v gathered", exchange, sink)
	}
	send := make([]float64, n)
	copy(send, even)
	send[3] = 0
	if exchange, sink = cuts(one, send); sink < 14e9 || exchange > sink/2 {
		t.Errorf("many to one: %v exchanged, %v gathered", exchange, sink)
	}
}

// remembers is an empty history of a fabric.
func remembers(g *topology.Graph) *History {
	return New(g, routes.NewRouter(g), Limits{Window: 30, MaxLag: 25, Jobs: 1000})
}

// rates is the load of each link in a snapshot of uses.
func rates(snap *schema.Snapshot, g *topology.Graph) func(schema.LinkID) float64 {
	use := snap.Find(schema.BandwidthUsed)
	return func(l schema.LinkID) float64 {
		if !use.Valid.Has(int(l)) {
			return -1
		}
		return float64(use.Values[l]) / 100 * g.Capacity(l)
	}
}

// reload saves a history, and loads it into another.
func reload(from, to *History) error {
	saved := codec.Format{Mark: "TEST", Version: formOfColumns, Oldest: formOfColumns}
	return saved.Open(saved.Seal(from.Code), to.Code)
}
