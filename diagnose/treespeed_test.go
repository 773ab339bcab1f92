package diagnose_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// The fat tree of newBadTree: into a host that receives more than its port delivers send hosts at several leaves, over
// several uplinks of each.
const (
	treeLeaves, treeHosts, treeSpines = 192, 60, 48
	incastLeaves, incastUplinks       = 10, 4
)

// incasts are the links of a fat tree that wait for hosts.
type incasts struct {
	day    *badDay
	leaves []topology.DeviceID
	stall  map[schema.LinkID]float32 // percent; what waits for several hosts stalls as for the one that most waits for
	waits  []schema.LinkID           // in stall, ascending
	full   []schema.LinkID           // to these hosts
}

// newBadTree is a fat tree whose regions are those that segmentation finds: most wait for one host, one for many.
func newBadTree(tb testing.TB, jobs, hosts int) *badDay {
	tb.Helper()
	d := newDay(tb, fmt.Sprintf("fattree:leaves=%d,hosts=%d,spines=%d", treeLeaves, treeHosts, treeSpines), schema.XmitWait, schema.Throughput)
	d.calm = func(m schema.Metric, l schema.LinkID) float32 {
		if m == schema.XmitWait {
			return 2 * d.rng.Float32()
		}
		return float32(d.graph.Capacity(l)) * (.1 + .1*d.rng.Float32())
	}
	for j := range jobs {
		d.jobs = append(d.jobs, d.treeJob(j))
	}
	in := incasts{day: d, stall: map[schema.LinkID]float32{}}
	for l := range topology.DeviceID(d.graph.NumDevices()) {
		if d.graph.Device(l).Level == 1 {
			in.leaves = append(in.leaves, l)
		}
	}
	for _, leaf := range d.rng.Perm(treeLeaves)[:hosts] {
		in.add(in.leaves[leaf])
	}
	slices.Sort(in.waits)
	d.congest = in.congest
	d.regions = segmented(tb, d.graph, d.interval(true).Snapshot)
	return d
}

// treeJob is a job of 8 to 67 nodes, every twentieth of 1000, on neighbouring hosts or every second or third.
func (d *badDay) treeJob(number int) schema.Job {
	job := schema.Job{ID: fmt.Sprint(number), Name: "work", Start: schema.Instant(d.now)}
	hosts, nodes := d.graph.Hosts(), 8+d.rng.IntN(60)
	if number%20 == 0 {
		nodes = 1000
	}
	first := d.rng.IntN(len(hosts))
	for n := range nodes {
		job.Nodes = append(job.Nodes, d.graph.Device(hosts[(first+n*(1+number%3))%len(hosts)]).Name)
	}
	return job
}

// add makes a host of a leaf receive more than its port delivers.
func (in *incasts) add(leaf topology.DeviceID) {
	level := 20 + 40*in.day.rng.Float32()
	down, _ := in.between(leaf)
	for _, l := range down {
		in.wait(l, level)
	}
	in.full = append(in.full, in.portsOf(leaf)[0])
	for range incastLeaves {
		_, up := in.between(in.leaves[in.day.rng.IntN(treeLeaves)])
		for range incastUplinks {
			in.wait(up[in.day.rng.IntN(treeSpines)], .6*level)
		}
	}
}

func (in *incasts) wait(l schema.LinkID, stall float32) {
	if in.stall[l] == 0 {
		in.waits = append(in.waits, l)
	}
	in.stall[l] = max(in.stall[l], stall)
}

// between lists the links from spines to a leaf, and those from it to spines.
func (in *incasts) between(leaf topology.DeviceID) (down, up []schema.LinkID) {
	g := in.day.graph
	for _, l := range g.LinksAt(leaf) {
		if from, to := g.Ends(l); to == leaf && g.IsSwitch(from) {
			down = append(down, l)
		} else if g.IsSwitch(from) && g.IsSwitch(to) {
			up = append(up, l)
		}
	}
	return down, up
}

// portsOf lists the links from a leaf to its hosts.
func (in *incasts) portsOf(leaf topology.DeviceID) (ports []schema.LinkID) {
	g := in.day.graph
	for _, l := range g.LinksAt(leaf) {
		if from, to := g.Ends(l); from == leaf && !g.IsSwitch(to) {
			ports = append(ports, l)
		}
	}
	return ports
}

func (in *incasts) congest(of []schema.Series) {
	stall, rate, rng := of[0].Values, of[1].Values, in.day.rng
	for _, l := range in.waits {
		stall[l], rate[l] = in.stall[l]+2*rng.Float32(), float32(in.day.graph.Capacity(l))*(.4+.3*rng.Float32())
	}
	for _, l := range in.full {
		rate[l] = float32(in.day.graph.Capacity(l)) * .97
	}
}

// segmented are the regions of a snapshot.
func segmented(tb testing.TB, g *topology.Graph, snap *schema.Snapshot) []schema.Region {
	tb.Helper()
	s, err := segment.New(g, segment.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	regions := s.Step(snap)
	for i := range regions {
		regions[i].ID = uint64(i + 1)
	}
	return regions
}
