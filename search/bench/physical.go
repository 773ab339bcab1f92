package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/search"
)

// Physical is a subsystem of parts with capacities: multi-level caches, token buckets,
// credits and queues. A part breaks if a workload's demand exceeds its capacity. The
// demand is a product of powers of several dimensions, so an anomaly is not a
// conjunction of bounds: its boundary is oblique, as for a working set (connections
// times bytes each) or the ratio of a batch to a queue. No search knows the formula.
// The truth has no MFS, so only detection counts.
type Physical struct {
	counting
	parts       []part
	ring, batch string // a queue must hold a batch, or the workload is invalid
}

// part is a unit of a subsystem.
type part struct {
	powers   map[string]float64         // by ordered dimension or pattern
	gates    map[string]map[string]bool // by unordered dimension: the values that use the part
	band     bool                       // it breaks only near its capacity: a resonance of two queues
	capacity float64                    // log2 of the demand
	width    float64                    // log2 units below capacity in which the demand is already felt
	share    float64                    // of the throughput, that remains when it is broken
	pause    float64                    // percent
	strain   float64                    // throughput share that it costs just before it breaks
}

const (
	physicalSamples = 5000 // sample workloads for choosing capacities
	bandWidth       = .6   // log2 units on each side
)

// GeneratePhysical makes the subsystem for a seed.
func GeneratePhysical(seed uint64) *Physical {
	r := rand.New(rand.NewPCG(seed, 0x7068797369636c))
	p := &Physical{counting: counting{rnd: r, noise: .1 + .4*r.Float64(), missing: .2 * float64(r.IntN(2)),
		description: search.Description{Name: fmt.Sprint("physical-", seed), LineRateGbps: 100, MessageRateMpps: 100}}}
	p.dimensions()
	space, err := search.NewSpace(p.description.Dimensions)
	if err != nil {
		panic(err) // the generator makes only valid spaces
	}
	samples := make([]search.Workload, physicalSamples)
	for i := range samples {
		samples[i] = space.Random(r, nil)
	}
	for want, tries := 8+r.IntN(9), 0; len(p.parts) < want && tries < 20*want; tries++ {
		p.addPart(samples)
	}
	const events = "events_"
	for i := range p.parts {
		if r.IntN(3) > 0 {
			p.count(events, i)
		} else if i > 0 && r.IntN(2) == 0 { // one counter of two parts
			p.count(events, i-1, i)
		}
	}
	for range 1 + r.IntN(2) {
		p.count(events)
	}
	return p
}

func (p *Physical) dimensions() {
	r := p.rnd
	add := func(d search.Dimension) string {
		p.description.Dimensions = append(p.description.Dimensions, d)
		return d.Name
	}
	for i := range 2 + r.IntN(3) { // operation, place, mode
		d := search.Dimension{Name: fmt.Sprint("mode", i)}
		for k := range 2 + r.IntN(5) {
			d.Values = append(d.Values, search.Text(fmt.Sprint("m", k)))
		}
		add(d)
	}
	ordered := func(name string) string {
		d := search.Dimension{Name: name, Ordered: true}
		step := .5 + 2*r.Float64()
		for k := range 4 + r.IntN(12) {
			v := math.Round(math.Pow(2, step*float64(k)))
			if k == 0 || v > d.Values[k-1].Float() {
				d.Values = append(d.Values, search.Number(v))
			}
			if len(d.Values) <= k { // two steps were rounded to one value
				break
			}
		}
		return add(d)
	}
	p.ring, p.batch = ordered("ring"), ordered("burst")
	for i := range 4 + r.IntN(8) {
		ordered(fmt.Sprint("load", i))
	}
	if r.IntN(4) > 0 {
		d := search.Dimension{Name: "lengths", Pattern: true, MaxLength: 2 + r.IntN(5)}
		for k := range 6 + r.IntN(8) {
			d.Values = append(d.Values, search.Number(32*math.Pow(2, float64(k))))
		}
		add(d)
	}
}

// addPart adds a random part that a small share of the workloads breaks, if possible.
func (p *Physical) addPart(samples []search.Workload) {
	r := p.rnd
	x := part{powers: map[string]float64{}, gates: map[string]map[string]bool{}, band: r.IntN(8) == 0,
		width: 4 + 8*r.Float64(), share: .2 + .5*r.Float64(), strain: .06 * r.Float64()}
	if r.IntN(2) == 0 {
		x.pause = .5 + 15*r.Float64()
	}
	powers := 1 + r.IntN(3)
	for _, i := range r.Perm(len(p.description.Dimensions)) {
		switch d := &p.description.Dimensions[i]; {
		case d.Ordered || d.Pattern:
			if len(x.powers) < powers {
				x.powers[d.Name] = []float64{1, 1, .5, -1}[r.IntN(4)]
			}
		case r.IntN(2) == 0 && len(x.gates) < 2:
			uses := map[string]bool{}
			for range 1 + r.IntN(2) {
				uses[d.Values[r.IntN(len(d.Values))].String()] = true
			}
			x.gates[d.Name] = uses
		}
	}
	var demands []float64
	for _, w := range samples {
		if p.possible(w) && x.uses(w) {
			demands = append(demands, x.demand(w))
		}
	}
	if len(demands) < physicalSamples/100 {
		return
	}
	slices.Sort(demands)
	rare := math.Pow(10, -1-2*r.Float64()) // share of the workloads that use it: 10% to 0.1%
	if x.band {
		rare = .2 + .6*r.Float64() // between
	}
	x.capacity = demands[min(len(demands)-2, int(float64(len(demands))*(1-rare)))]
	broken := 0
	for _, w := range samples {
		if x.breaks(w) {
			broken++
		}
	}
	if broken > physicalSamples/20 || !slices.ContainsFunc(demands, func(d float64) bool { return x.over(d) }) {
		return
	}
	p.parts = append(p.parts, x)
}

func (p *Physical) possible(w search.Workload) bool {
	return w.Values(p.ring)[0].Float() >= w.Values(p.batch)[0].Float()
}

// uses reports whether a workload uses the part at all.
func (x *part) uses(w search.Workload) bool {
	for name, values := range x.gates {
		if !values[w.Values(name)[0].String()] {
			return false
		}
	}
	return true
}

// demand is log2 of a product of powers; a pattern enters by its mean.
func (x *part) demand(w search.Workload) (sum float64) {
	for name, power := range x.powers {
		mean := 0.
		values := w.Values(name)
		for _, v := range values {
			mean += v.Float() / float64(len(values))
		}
		sum += power * math.Log2(mean)
	}
	return math.Round(sum*1e6) / 1e6 // rounding makes the sum independent of map order
}

func (x *part) over(demand float64) bool {
	if x.band {
		return math.Abs(demand-x.capacity) < bandWidth
	}
	return demand > x.capacity
}

func (x *part) breaks(w search.Workload) bool { return x.uses(w) && x.over(x.demand(w)) }

// load of a part: 1 at its capacity, slightly more beyond.
func (x *part) load(w search.Workload) float64 {
	if !x.uses(w) {
		return .02
	}
	away := x.capacity - x.demand(w)
	if x.band {
		away = math.Abs(away)
	}
	return max(.02, min(1.5, math.Exp2(-3*away/x.width)))
}

// Truth has the number of each anomaly, without an MFS.
func (p *Physical) Truth() map[int]string {
	truth := map[int]string{}
	for i := range p.parts {
		truth[i+1] = ""
	}
	return truth
}

// Anomalies returns the parts that a workload breaks, numbered from 1.
func (p *Physical) Anomalies(w search.Workload) (numbers []int) {
	for i := range p.parts {
		if p.parts[i].breaks(w) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Measure runs a workload.
func (p *Physical) Measure(w search.Workload) search.Measurement {
	if !p.possible(w) {
		return search.Measurement{Status: search.Invalid}
	}
	of := symptoms{share: 1}
	for i := range p.parts {
		x := &p.parts[i]
		of.strain += x.strain * min(1, x.load(w))
		if x.breaks(w) {
			of.share, of.pause = min(of.share, x.share), max(of.pause, x.pause)
		}
	}
	return p.measured(of, func() float64 { return 1e4 * p.rnd.Float64() }, func(k int) float64 { return 1e5 * p.parts[k].load(w) })
}
