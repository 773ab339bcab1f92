package spines

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/segment/trees/layers"
)

// Divider divides the links of a two-level fabric among the trees found, leaf by leaf. An uplink waits at its spine for that
// spine's link down to a root, so where traffic takes all spines, the uplinks of a leaf differ from spine to spine as the links
// down to the roots of its trees do. All uplinks of a leaf wait for the same trees, and a tree falls about equally from its root
// to all leaves. The regions and their roots are known before; only the division of their links changes.
type Divider struct {
	place      index.By[index.Device, int32] // of a spine: its place by name; else -1
	number     int                           // of spines
	leaves     []index.Device                // by name
	pods       index.By[podID, pod]          // of a fabric of more levels, else none
	pod        podID                         // that is divided
	ends       []treeEnd
	endAt      index.By[index.Device, int8]    // the end at a leaf, or -1
	exchangeAt index.By[index.Device, int8]    // the end that is an exchange of that leaf, or -1
	isRoot     index.By[index.Device, bool]    // a region has its root there
	added      index.By[index.Device, float64] // what exchanges add to the uplinks of a leaf
	down       []float64                       // links down to the ends, by end and spine
	up         []float64                       // uplinks of one leaf, by spine
	weight     []float64                       // of each of these, 0 without a reading
	leadsToAll []bool                          // by spine: it has links to all ends
	senders    []sender
	options    []option
	parts      []partOf
	voters     []*sender // that the falls are fitted to
	costs      []float64 // of their options
	division   division
	sample     []float64
	least      float64 // percent that a tree adds to an uplink at least, beside another
}

// Snapshot is what is known of a snapshot before its links are divided.
type Snapshot struct {
	*backpressure.Nodes
	Regions      *backpressure.Regions
	Hot, MinMean float64 // percent: from which a link is stalled; the least mean of a region
	FewestLinks  int     // of a region
}

// endSet is a set of ends, by their indices.
type endSet uint8

func setOf(end int) endSet           { return 1 << end }
func (s endSet) has(end int) bool    { return s>>end&1 != 0 }
func (s endSet) size() int           { return bits.OnesCount8(uint8(s)) }
func (s endSet) first() int          { return bits.TrailingZeros8(uint8(s)) }
func (s endSet) rest() endSet        { return s & (s - 1) }
func (s endSet) meets(o endSet) bool { return s&o != 0 }

// treeEnd is a leaf into which the links down wait. In a pod it may also be an exchange of several leaves, or all that is above the
// spines.
type treeEnd struct {
	device     index.Device // or noDevice
	level      float64      // median of the links down
	stalled    int          // number of these
	hasRegion  bool
	falls      [mostFalls]float64 // from there to the uplinks of other leaves: candidates, the likeliest first
	known      int                // number of candidates
	fall       int                // the candidate that is chosen
	hosts      float64            // level of hosts that wait for it alone, 0 if unknown
	isExchange bool               // of leaves of a pod
}

const (
	mostEnds = 5  // so that the cost is bounded; with more, the regions stay as they are
	endShare = .5 // of the links down to an end stall
	// A tree adds at least that share of the least mean of a region to an uplink beside another one.
	leastAdded = .8
)

// New lists the leaves and spines of a fabric by name, in pods unless it has two levels.
func New(w *backpressure.Graph, isTwoLevel bool) Divider {
	n := len(w.Level)
	f := Divider{place: make([]int32, n), endAt: make([]int8, n), exchangeAt: make([]int8, n), isRoot: make([]bool, n), added: make([]float64, n)}
	f.division.count = make([]int32, n)
	var order []index.Device
	for d := range w.Level.Len() {
		f.place[d], f.endAt[d], f.exchangeAt[d] = -1, -1, -1
		switch {
		case w.IsLeaf(d):
			f.leaves = append(f.leaves, d)
		case w.IsSwitch[d] && w.Level[d] == 2:
			order = append(order, d)
		}
	}
	byName := func(a, b index.Device) int { return cmp.Compare(w.ByName[a], w.ByName[b]) }
	slices.SortFunc(order, byName)
	slices.SortFunc(f.leaves, byName)
	for k, d := range order {
		f.place[d] = int32(k)
	}
	if f.number = len(order); !isTwoLevel {
		f.findPods(w)
	}
	f.down, f.up, f.weight = make([]float64, mostEnds*f.number), make([]float64, f.number), make([]float64, f.number)
	f.leadsToAll = make([]bool, f.number)
	return f
}

// Divide divides the links of the regions found by back pressure.
func (f *Divider) Divide(m *Snapshot, y *layers.Layers) {
	if f.findEnds(m); len(f.ends) == 0 || len(f.ends) > mostEnds {
		return
	}
	f.division.listEnds(m, f)
	clear(f.added)
	y.AddSent(f.added)
	f.least = leastAdded * m.MinMean
	if f.findSenders(m); len(f.senders) == 0 {
		return
	}
	f.findFalls()
	f.division.decide(m, f)
	f.division.keepEnds(f.pod)
	f.division.rewrite(m)
}

// downTo is the row of an end: the stall of the link down to it, by spine.
func (f *Divider) downTo(end int) []float64 { return f.down[end*f.number : (end+1)*f.number] }

// findEnds finds the ends, as far as there are at most mostEnds.
func (f *Divider) findEnds(m *Snapshot) {
	for k := range f.ends {
		f.endAt[f.ends[k].device] = -1
	}
	f.ends = f.ends[:0]
	for s := range f.leadsToAll {
		f.leadsToAll[s] = true
	}
	for _, d := range f.leaves {
		f.sample = f.sample[:0]
		for _, i := range m.Into.Of(d) {
			if !m.FromHost(i) {
				f.sample = append(f.sample, m.Stall[i])
			}
		}
		stalled := len(f.sample)
		if stalled < layers.FewestOfWays || float64(stalled) < endShare*float64(m.Measured(m.Graph.In.Of(d), backpressure.Downward)) {
			continue
		}
		if f.ends = append(f.ends, treeEnd{device: d, level: median.Of(f.sample), stalled: stalled}); len(f.ends) > mostEnds {
			return
		}
		f.endAt[d] = int8(len(f.ends) - 1)
		f.readDown(m, len(f.ends)-1)
	}
}

// readDown reads the links down to an end; one without a value, or that reads zero, stalls as is usual
// there. A spine without a link to it is left out.
func (f *Divider) readDown(m *Snapshot, end int) {
	x, row := &f.ends[end], f.downTo(end)
	f.sum(m, m.Graph.In.Of(x.device), m.Graph.From, row, f.weight)
	for _, l := range m.Graph.In.Of(x.device) {
		if s := f.place[m.Graph.From[l]]; s >= 0 && f.weight[s] == 0 {
			row[s] = x.level
		}
	}
	for s, v := range row {
		f.leadsToAll[s] = f.leadsToAll[s] && v > 0
	}
}

// sum averages the readings of links to or from spines, whose other ends are in far, by spine, and counts them.
func (f *Divider) sum(m *Snapshot, links []index.Link, far index.By[index.Link, index.Device], mean, count []float64) {
	clear(mean)
	clear(count)
	for _, l := range links {
		if s := f.place[far[l]]; s >= 0 && m.Values[l] > 0 {
			mean[s], count[s] = mean[s]+float64(m.Values[l]), count[s]+1
		}
	}
	for s, n := range count {
		mean[s] /= max(1, n)
	}
}
