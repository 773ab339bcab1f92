package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/search"
)

// Hardware is a random NIC and host, built from the units of real ones: caches of
// connections, translations and work requests, PCIe credits and ordering, the receive
// buffer, packet pipelines, schedulers, the loopback path. Seeds differ in units, in the
// dimensions that load them, in values and in counters. A fault needs two to five conditions
// at once. One of them may be a unit beyond its capacity, loaded by two dimensions
// together, so that its boundary is not parallel to an axis. Many faults are rare.
type Hardware struct {
	counting
	index   []map[string]int // by dimension: index of a value by its text
	units   []unit
	faults  []fault
	queue   [2]int // dimensions: the first must be at least as long as the second
	refused []need // a workload that meets all of them is infeasible
}

// setting is a workload as indexes into the values of each dimension.
type setting [][]int

// unit is a part of the NIC or host.
type unit struct {
	loads  []load
	gate   *need   // only workloads that meet it use the unit; nil: all
	strain float64 // throughput share that it costs at full load
}

// load of a unit by a dimension: from 0 at one end to 1 at the other.
type load struct {
	dim  int
	down bool // the lowest value loads the most
}

// fault is an anomaly where all needs are met.
type fault struct {
	needs []need
	share float64 // of the throughput, that remains
	pause float64 // percent
}

// need is a condition on one dimension, or on the sum of two loads.
type need struct {
	dims  []int
	holds func(s setting) bool
	box   search.Condition // for one dimension
}

// Parameters of the generator.
const (
	rarestFault    = 3e-8
	commonestFault = .03
	needSamples    = 400
)

// GenerateHardware makes the subsystem for a seed.
func GenerateHardware(seed uint64) *Hardware {
	r := rand.New(rand.NewPCG(seed, 0x6861726477617265))
	h := &Hardware{counting: counting{rnd: r, noise: .1 + .3*r.Float64(), missing: .1 * float64(r.IntN(2)),
		description: search.Description{Name: fmt.Sprint("hardware-", seed), LineRateGbps: 400, MessageRateMpps: 300}}}
	h.dimensions()
	for range 6 + r.IntN(7) {
		h.units = append(h.units, h.unit())
	}
	const events = "hw_event_"
	for i := range h.units {
		switch r.IntN(6) {
		case 0, 1, 2, 3:
			h.count(events, i)
		case 4:
			h.count(events, i, r.IntN(len(h.units)))
		}
	}
	for range 1 + r.IntN(3) {
		h.count(events)
	}
	if r.IntN(2) == 0 {
		h.refused = []need{h.choice(), h.choice()}
	}
	h.makeFaults(15 + r.IntN(26))
	return h
}

// dimensions adds the verbs' parameters. Which exist, their names and values vary.
func (h *Hardware) dimensions() {
	r := h.rnd
	add := func(d search.Dimension) int {
		d.Name = fmt.Sprintf("%s_%d", d.Name, r.IntN(100))
		at := map[string]int{}
		for i, v := range d.Values {
			at[v.String()] = i
		}
		h.description.Dimensions = append(h.description.Dimensions, d)
		h.index = append(h.index, at)
		return len(h.index) - 1
	}
	choices := func(name string, n int) {
		d := search.Dimension{Name: name}
		for i := range n {
			d.Values = append(d.Values, search.Text(fmt.Sprint(name[:1], i)))
		}
		add(d)
	}
	scale := func(name string, first, factor float64, n int) int {
		d := search.Dimension{Name: name, Ordered: true}
		for i := range n {
			d.Values = append(d.Values, search.Number(math.Round(first*math.Pow(factor, float64(i)))))
		}
		return add(d)
	}
	choices("operation", 3+r.IntN(5))
	choices("buffers", 2+r.IntN(4))
	choices("path", 2+r.IntN(2))
	h.queue = [2]int{scale("queue", 8, 2, 5+r.IntN(6)), scale("posted", 1, 2, 4+r.IntN(5))}
	scale("connections", 1, 2+2*r.Float64(), 5+r.IntN(10))
	scale("regions", 1, 3+3*r.Float64(), 4+r.IntN(6))
	sizes := search.Dimension{Name: "sizes", Pattern: true, MaxLength: 2 + r.IntN(6)}
	for i := range 7 + r.IntN(9) {
		sizes.Values = append(sizes.Values, search.Number(32*math.Pow(2, float64(i))))
	}
	add(sizes)
	optional := []func(){
		func() { scale("packet", 256, 2, 3+r.IntN(3)) },
		func() { scale("elements", 1, 2, 3+r.IntN(3)) },
		func() { scale("page_kb", 4, 8, 3+r.IntN(3)) },
		func() { scale("align", 1, 2, 4+r.IntN(4)) },
		func() { scale("outstanding", 1, 2, 4+r.IntN(3)) },
		func() { scale("functions", 1, 2, 3+r.IntN(5)) },
		func() { scale("moderation", 1, 4, 3+r.IntN(3)) },
		func() { scale("burst", 1, 2, 4+r.IntN(4)) },
		func() { scale("gap_ns", 10, 3, 4+r.IntN(4)) },
		func() { choices("receive_buffers", 2+r.IntN(4)) },
		func() { choices("ordering", 2) },
		func() { choices("class", 2+r.IntN(3)) },
		func() { choices("signal", 2) },
	}
	r.Shuffle(len(optional), func(i, k int) { optional[i], optional[k] = optional[k], optional[i] })
	for _, add := range optional[:1+r.IntN(len(optional))] {
		add()
	}
}

// ordered returns a random ordered dimension, or the pattern.
func (h *Hardware) ordered() int {
	for {
		if i := h.rnd.IntN(len(h.index)); h.description.Dimensions[i].Ordered || h.description.Dimensions[i].Pattern {
			return i
		}
	}
}

func (h *Hardware) unit() unit {
	r := h.rnd
	u := unit{strain: .05 * r.Float64()}
	for range 1 + r.IntN(3) {
		u.loads = append(u.loads, load{h.ordered(), r.IntN(3) == 0})
	}
	if r.IntN(2) == 0 {
		gate := h.choice()
		u.gate = &gate
	}
	return u
}

// choice is a need of an unordered dimension.
func (h *Hardware) choice() need {
	for {
		i := h.rnd.IntN(len(h.index))
		d := &h.description.Dimensions[i]
		if d.Ordered || d.Pattern {
			continue
		}
		in := []int{h.rnd.IntN(len(d.Values))}
		if len(d.Values) > 3 && h.rnd.IntN(3) == 0 {
			in = append(in, (in[0]+1)%len(d.Values))
		}
		n := need{dims: []int{i}, holds: func(s setting) bool { return slices.Contains(in, s[i][0]) }}
		for _, k := range in {
			n.box.In = append(n.box.In, d.Values[k])
		}
		return n
	}
}

// level of a setting, 0 to 1; for a pattern, the mean.
func (h *Hardware) level(l load, s setting) float64 {
	sum := 0.
	for _, i := range s[l.dim] {
		sum += float64(i)
	}
	v := sum / float64(len(s[l.dim])) / float64(len(h.description.Dimensions[l.dim].Values)-1)
	if l.down {
		return 1 - v
	}
	return v
}

// load of a unit, 0 to 1.
func (h *Hardware) load(u *unit, s setting) float64 {
	if u.gate != nil && !u.gate.holds(s) {
		return .03
	}
	sum := 0.
	for _, l := range u.loads {
		sum += h.level(l, s)
	}
	return .03 + .97*math.Pow(sum/float64(len(u.loads)), 2)
}

// read converts a workload to a setting.
func (h *Hardware) read(w search.Workload) setting {
	s := make(setting, len(h.index))
	for i := range h.description.Dimensions {
		for _, v := range w.Values(h.description.Dimensions[i].Name) {
			s[i] = append(s[i], h.index[i][v.String()])
		}
	}
	return s
}

// Anomalies returns the faults that a workload triggers, numbered from 1.
func (h *Hardware) Anomalies(w search.Workload) (numbers []int) {
	s := h.read(w)
	for i := range h.faults {
		if met(h.faults[i].needs, s) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func met(needs []need, s setting) bool {
	return !slices.ContainsFunc(needs, func(n need) bool { return !n.holds(s) })
}

func (h *Hardware) possible(s setting) bool {
	values := func(d int) float64 { return h.description.Dimensions[d].Values[s[d][0]].Float() }
	return values(h.queue[0]) >= values(h.queue[1]) && (len(h.refused) == 0 || !met(h.refused, s))
}

// Measure runs a workload.
func (h *Hardware) Measure(w search.Workload) search.Measurement {
	s := h.read(w)
	if !h.possible(s) {
		return search.Measurement{Status: search.Invalid}
	}
	of := symptoms{share: 1}
	for i := range h.units {
		of.strain += h.units[i].strain * h.load(&h.units[i], s)
	}
	for _, n := range h.Anomalies(w) {
		of.share, of.pause = min(of.share, h.faults[n-1].share), max(of.pause, h.faults[n-1].pause)
	}
	return h.measured(of, func() float64 { return 1e5 * math.Exp(h.rnd.NormFloat64()) }, func(k int) float64 { return 1e6 * h.load(&h.units[k], s) })
}
