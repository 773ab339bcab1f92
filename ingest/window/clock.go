package window

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// reporter is a port as seen by the batches that have a given key counter. A port whose
// counters come in several batches has one per key counter.
type reporter struct {
	newest int64 // instant of its newest reading; never if there is none
	// Agent that last read the port, and its epoch of the counters.
	agent, epoch uint64
	reader       uint64 // agent that last read the port, regardless of epochs
	leftNanos    int64  // where the clock was when it was set back; never if it was not, or has passed there again
	// Number of the batch with the newest reading, and that of the one before it, or before rows got mixed; 0 if unknown.
	number, numberBefore uint64
	mixed                bool // rows from before a step back come between those from after it, and are not used
	alone                bool // another agent contradicts the reader, and is not used
}

// behind reports whether the port's clock was set back, and is not yet where it was: its readings belong to no earlier interval.
func (r *reporter) behind() bool { return r.leftNanos != never }

// clocks tracks how far ports and devices have reported, which determines when
// the open interval may close. The counts are updated at every row; recount
// recomputes them when another interval opens.
type clocks struct {
	activeAfter int64 // reporters without a reading after this are not waited for
	endNanos    int64 // end of the open interval
	passNanos   int64 // endNanos plus the event-time lateness
	futureNanos int64 // a reporter beyond this has a clock that is far ahead

	pending int  // active reporters that have not reached endNanos
	active  int  // active devices
	passed  int  // devices with a reading at or after passNanos
	again   bool // a port has reported for the second time, so the first round is over

	farthest int64   // the newest reading ever
	newest   []int64 // by device: its newest reading; never if it is inactive or skewed
	known    schema.Bitmap
	numKnown int // ports that have reported

	// The clocks of the devices, as last judged.
	read, readBefore []int64 // by device: instant of its newest reading when last judged, and the time before
	skewed           []bool  // by device: too far from the median of all
	anySkewed        bool
	scratch          []int64
}

func newClocks(devices, ports int) clocks {
	c := clocks{farthest: never, known: schema.NewBitmap(ports), skewed: make([]bool, devices)}
	for _, byDevice := range []*[]int64{&c.newest, &c.read, &c.readBefore} {
		*byDevice = slices.Repeat([]int64{never}, devices)
	}
	return c
}

// expected reports whether a reporter whose newest reading is of this instant
// is waited for. ahead is as in reachAhead.
func (c *clocks) expected(nanos, ahead int64) bool {
	return nanos > c.activeAfter && nanos < c.endNanos-ahead
}

// recordReport records that a reporter of a port has a reading of an instant, in the batch of a number. setBack is whether
// an older instant than before means that the clock was set back; otherwise it is just out of order.
func (w *Window) recordReport(rep *reporter, p uint32, nanos int64, number uint64, setBack bool) {
	c, old := &w.clocks, rep.newest
	setRight := setBack || old >= c.futureNanos
	if nanos <= old && !setRight {
		return
	}
	if rep.reader != w.agent {
		rep.alone = false
	}
	if setBack {
		rep.leftNanos = max(rep.leftNanos, old)
	} else if nanos > rep.leftNanos {
		rep.leftNanos = never
	}
	rep.newest, rep.reader = nanos, w.agent
	if !rep.mixed || number < rep.number {
		rep.numberBefore, rep.mixed = rep.number, false
	}
	rep.number = number
	c.farthest = max(c.farthest, nanos)
	if old != never {
		c.again = c.again || nanos > old
	} else if !c.known.Has(int(p)) {
		c.known.Set(int(p))
		c.numKnown++
	}
	d := w.ports.device[p]
	if c.skewed[d] {
		return
	}
	if c.expected(old, w.ahead) {
		c.pending--
	}
	if c.expected(nanos, w.ahead) {
		c.pending++
	}
	was, is := c.newest[d], max(c.newest[d], nanos)
	if setRight {
		is = w.newestOf(d)
	}
	if is != was {
		c.newest[d] = is
		c.active += oneIf(is > c.activeAfter) - oneIf(was > c.activeAfter)
		c.passed += oneIf(is >= c.passNanos) - oneIf(was >= c.passNanos)
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// newestOf returns the instant of a device's newest reading, or never.
func (w *Window) newestOf(d topology.DeviceID) int64 {
	newest := int64(never)
	for _, t := range w.tracks {
		if t.reporters != nil {
			for p := w.ports.first[d]; p < w.ports.first[d+1]; p++ {
				newest = max(newest, t.reporters[p].newest)
			}
		}
	}
	return newest
}

// ready reports whether the open interval may close: no port is waited for, or
// more than half of the devices are past the lateness.
func (c *clocks) ready() bool {
	return c.active > 0 && (c.pending == 0 && c.again || 2*c.passed > c.active)
}

// recount recomputes the counts for the open interval.
func (w *Window) recount() {
	c := &w.clocks
	c.endNanos = w.openStart + w.cfg.IntervalNanos
	c.passNanos = c.endNanos + w.cfg.EventTimeLatenessNanos
	c.activeAfter = c.endNanos - w.maxGapNanos
	c.futureNanos = w.maxAheadNanos + w.cfg.IntervalNanos
	for d := range c.newest {
		c.newest[d] = never
	}
	c.pending, c.active, c.passed = 0, 0, 0
	for _, t := range w.tracks {
		ahead := w.reachAhead(t)
		for p := range t.reporters {
			nanos := t.reporters[p].newest
			if nanos <= c.activeAfter {
				continue
			}
			d := w.ports.device[p]
			if c.skewed[d] {
				continue
			}
			if c.expected(nanos, ahead) {
				c.pending++
			}
			c.newest[d] = max(c.newest[d], nanos)
		}
	}
	for _, nanos := range c.newest {
		if nanos > c.activeAfter {
			c.active++
		}
		if nanos >= c.passNanos {
			c.passed++
		}
	}
}

// watermark is the instant that more than half of the active devices have reached
// or passed with their readings.
func (c *clocks) watermark() int64 {
	c.scratch = c.scratch[:0]
	for _, nanos := range c.newest {
		if nanos > c.activeAfter {
			c.scratch = append(c.scratch, nanos)
		}
	}
	if len(c.scratch) == 0 {
		return never
	}
	slices.Sort(c.scratch)
	return c.scratch[(len(c.scratch)-1)/2]
}

// judgeClocks compares the newest readings of the devices that have reported
// since the last call: when an interval closes, they should be of about the
// same instant. Three devices are needed to tell which clock is wrong.
func (w *Window) judgeClocks() {
	c := &w.clocks
	c.read, c.readBefore = c.readBefore, c.read
	c.scratch = c.scratch[:0]
	for d := range c.read {
		nanos := w.newestOf(topology.DeviceID(d))
		c.read[d] = nanos
		if c.hasReported(d) {
			c.scratch = append(c.scratch, nanos)
		}
	}
	if len(c.scratch) < 3 {
		return
	}
	slices.Sort(c.scratch)
	median := c.scratch[(len(c.scratch)-1)/2]
	for d, nanos := range c.read {
		if c.hasReported(d) {
			offset := nanos - median
			c.skewed[d] = offset > w.cfg.MaxSkewNanos || offset < -w.cfg.MaxSkewNanos
		}
	}
	c.anySkewed = slices.Contains(c.skewed, true)
}

// hasReported reports whether a device has reported since its clock was last
// judged. A device whose ports were forgotten or left the graph has not.
func (c *clocks) hasReported(d int) bool {
	return c.read[d] != never && c.read[d] != c.readBefore[d]
}

// renumbered returns the state for another version of the graph: from[p] is the
// old number of port p, or noPort.
func (c *clocks) renumbered(old *topology.Graph, p *ports, from []uint32) clocks {
	n := newClocks(p.graph.NumDevices(), p.len())
	n.farthest, n.again, n.anySkewed = c.farthest, c.again, c.anySkewed
	for d := range n.read {
		if was, ok := old.FindDevice(p.graph.Device(topology.DeviceID(d)).Name); ok {
			n.read[d], n.skewed[d] = c.read[was], c.skewed[was]
		}
	}
	for port, o := range from {
		if o != noPort && c.known.Has(int(o)) {
			n.known.Set(port)
			n.numKnown++
		}
	}
	return n
}
