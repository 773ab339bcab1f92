package diagnose

import "github.com/giverny/giverny/topology"

// hostBalance is what a host sends beyond what it takes in, compared with before an onset.
type hostBalance struct {
	known   bool    // computed
	past    uint32  // number of what it is compared with (root.Past)
	more    float64 // by how much more it sends beyond what it takes in, bytes/s
	carries float64 // the load of its links, both ways, bytes/s
	read    bool    // that of all of its links was read
	before  bool    // that of all of them is known from before
}

// hostBalances caches the balances of hosts for the pasts of the last regions. Most regions of an interval began
// together, and the same jobs are suspects of many of them.
type hostBalances struct {
	tables [mostBalances][]hostBalance // by device; nil: not used yet
	pasts  [mostBalances]uint32        // by table: of the region that used it last
}

// mostBalances bounds the pasts that are kept, as regions that began at different times alternate.
const mostBalances = 4

// table is that of a past; a new one takes the place of the oldest.
func (b *hostBalances) table(past uint32, devices int) []hostBalance {
	oldest := 0
	for i, p := range b.pasts {
		if p == past && b.tables[i] != nil {
			return b.tables[i]
		}
		if p < b.pasts[oldest] {
			oldest = i
		}
	}
	if b.tables[oldest] == nil {
		b.tables[oldest] = make([]hostBalance, devices)
	}
	b.pasts[oldest] = past
	return b.tables[oldest]
}

// balanceOf is a host's balance, compared with before the onset of a region.
func (rc *regionCase) balanceOf(host topology.DeviceID) *hostBalance {
	b := &rc.in.balances.table(rc.pressure.Number, rc.in.graph.NumDevices())[host]
	if b.known && b.past == rc.pressure.Number {
		return b
	}
	*b = hostBalance{known: true, past: rc.pressure.Number, read: true, before: true}
	for _, l := range rc.in.graph.LinksAt(host) {
		b.read = b.read && rc.in.use(l).known
		b.before = b.before && rc.baselineUse(l).known
		b.carries += rc.in.rateAt(rc.in.use(l).orZero(), l)
		if from, _ := rc.in.graph.Ends(l); from == host {
			b.more += rc.addedTo(l)
		} else {
			b.more -= rc.addedTo(l)
		}
	}
	return b
}
