package history

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// deriveTraffic derives job traffic of a slot from the links of the jobs' hosts, on fabrics with directed host links:
// the bisection cuts and, as far as the traffic table has no values of a job, what the nodes sent and received as RDMA
// writes and reads, and what left or entered the job as file traffic.
func (h *History) deriveTraffic(interval schema.Interval, rateOf func(schema.LinkID) float64) {
	seconds := float64(interval.DurationNanos) / 1e9
	var in, out []float64
	for _, j := range h.Running() {
		in, out = in[:0], out[:0]
		whole, inWhole, outWhole := 0, 0., 0. // hosts of which all links were read
		for _, d := range j.Devices {
			a, b, read := h.hostRates(rateOf, d)
			if read > 0 {
				in, out = append(in, a*seconds), append(out, b*seconds)
			}
			if read > 0 && read == len(h.graph.LinksAt(d)) {
				whole, inWhole, outWhole = whole+1, inWhole+a*seconds, outWhole+b*seconds
			}
		}
		if 2*len(in) <= len(j.Devices) {
			continue // most hosts did not report
		}
		t := h.TrafficOf(j)
		t.derive(RDMARead, h.Clock.Now, SumOf(in))
		t.derive(RDMAWrite, h.Clock.Now, SumOf(out))
		if float64(whole) >= mostHosts*float64(len(j.Devices)) { // of a large job some reading is always missing
			came, left := crossed(inWhole, outWhole)
			within := min(inWhole, outWhole)
			t.deriveOthers(Read, h.Clock.Now, came, within)
			t.deriveOthers(Write, h.Clock.Now, left, within)
		}
		if len(in) > 1 {
			exchange, sink := cuts(in, out)
			t.Set(allToAll, h.Clock.Now, exchange)
			t.Set(manyToOne, h.Clock.Now, sink)
		}
	}
}

// mostHosts is the share of a job's hosts of which all links must be read to derive what left and entered the job.
const mostHosts = .9

// derive sets a feature of which the traffic table has no values.
func (t *Traffic) derive(f Feature, slot int64, bytes float64) {
	if !t.Listed[f] {
		t.Set(f, slot, bytes)
	}
}

// alike is the share of what is with others than a job's nodes that a table must count as RDMA, beside what the nodes
// exchange, for the table to have it.
const alike = .5

// deriveOthers is derive for what is with others than the job's nodes, beside what these exchange within the job. A
// table of RDMA may count it as such: a file system on the same fabric is read so. Otherwise it is not the job's:
// another one is on the same hosts.
func (t *Traffic) deriveOthers(f Feature, slot int64, bytes, within float64) {
	files, counted := t.At(f, slot), 0.
	for _, rdma := range [...]Feature{RDMARead, RDMAWrite} {
		if t.Listed[rdma] {
			counted += float64(orZero(t.At(rdma, slot)))
		}
	}
	hasIt := !t.Listed[RDMARead] && !t.Listed[RDMAWrite] || counted >= within+alike*bytes
	if !t.Listed[f] || !IsMissing(files) && bytes > float64(files) && hasIt {
		t.Set(f, slot, bytes)
	}
}

// crossedShare is the minimum difference between what a job's nodes send and receive, relative to the larger, that
// counts as having left or entered the job: less is noise, or held in buffers between its nodes.
const crossedShare = .3

// crossed is the traffic that entered and left a job, bytes, given what all its nodes receive and send: traffic within
// the job is in both. It counts as file traffic.
func crossed(taken, sent float64) (came, left float64) {
	least := crossedShare * max(taken, sent)
	if taken-sent >= least {
		came = taken - sent
	}
	if sent-taken >= least {
		left = sent - taken
	}
	return came, left
}

// hostRates is what a host receives and sends, bytes/s, over the links that were read, and their number. A link without
// a reading has that of the interval before, as a snapshot that is filled: otherwise what a lost reading shows would
// seem to leave or enter the job.
func (h *History) hostRates(rateOf func(schema.LinkID) float64, d topology.DeviceID) (in, out float64, read int) {
	if h.graph.IsSwitch(d) {
		return 0, 0, 0
	}
	for _, l := range h.graph.LinksAt(d) {
		rate := rateOf(l)
		if rate < 0 {
			rate = h.rateBefore(l)
		}
		if rate < 0 {
			continue
		}
		read++
		if from, _ := h.graph.Ends(l); from == d {
			out += rate
		} else {
			in += rate
		}
	}
	return in, out, read
}

// rateBefore is the load of a link in the interval before, bytes/s; -1 if it was not measured.
func (h *History) rateBefore(l schema.LinkID) float64 {
	use := h.memory.metrics[schema.BandwidthUsed]
	if use == nil {
		return -1
	}
	level := use.Row(h.Clock.Now - 1)[l]
	if level == LevelMissing {
		return -1
	}
	return float64(level) / LevelsPerPercent / 100 * h.graph.Capacity(l)
}

// cuts estimates an all-to-all exchange and a many-to-one sink from what each node of a job receives and
// sends (Monet, section 7, compares the two parts of bisection cuts). The exchange is the least that both
// parts can have sent each other, over cuts into halves, evens and odds, and alternate quarters. The sink is
// the most that one node receives beyond what it sends, limited to what the others send beyond what they receive.
func cuts(in, out []float64) (exchange, sink float64) {
	n := len(in)
	allIn, allOut := SumOf(in), SumOf(out)
	exchange = min(allIn, allOut)
	for _, isLeft := range [...]func(i int) bool{
		func(i int) bool { return i < n/2 },
		func(i int) bool { return i%2 == 0 },
		func(i int) bool { return i/max(1, n/4)%2 == 0 },
	} {
		leftIn, leftOut, left := 0., 0., 0
		for i := range in {
			if isLeft(i) {
				leftIn, leftOut, left = leftIn+in[i], leftOut+out[i], left+1
			}
		}
		across := min(leftOut, allIn-leftIn) + min(allOut-leftOut, leftIn)
		// A uniform exchange sends this share of what could have crossed.
		share := 2 * float64(left) * float64(n-left) / (float64(n) * float64(n-1))
		exchange = min(exchange, across*share)
	}
	for i := range in {
		net := in[i] - out[i]
		others := (allOut - out[i]) - (allIn - in[i])
		sink = max(sink, min(net, others))
	}
	return max(0, exchange), max(0, sink)
}

// SumOf is the sum of values, 0 of none.
func SumOf(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
