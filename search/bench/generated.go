package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/search"
)

// Generated is a random subsystem: its dimensions, the mechanisms behind its counters,
// its anomalies and its infeasible workloads. Anomalies are conjunctions of two to five
// conditions, mostly on a mechanism's drivers, as in the paper's table.
type Generated struct {
	description search.Description
	mechanisms  []mechanism
	anomalies   []generatedAnomaly
	impossible  []*search.MFS
	rnd         *rand.Rand
}

type generatedAnomaly struct {
	mfs          *search.MFS
	text         string
	share        float64 // of the throughput, that remains
	pausePercent float64
}

// mechanism is what a counter measures: its pressure is a product over some dimensions.
type mechanism struct {
	drivers []driver
	loss    float64 // of throughput at full pressure without an anomaly
}

// driver is how a dimension drives a mechanism.
type driver struct {
	name  string
	idle  float64            // factor when it does not drive
	level map[string]float64 // by value, 0 to 1
}

// Parameters of the generator.
const (
	counterNoise  = .25 // relative standard deviation of a counter
	rateNoise     = .01
	largestLoss   = .15 // without an anomaly
	rarest        = 1e-6
	commonest     = .05
	lineRateGbps  = 200
	packetRate    = 200
	generateTries = 400
)

// Generate makes the subsystem for a seed.
func Generate(seed uint64) *Generated {
	r := rand.New(rand.NewPCG(seed, 0x67656e6572617465))
	n := 8 + r.IntN(13)
	if r.IntN(6) == 0 {
		n = 30 + r.IntN(31)
	}
	return GenerateWith(seed, n)
}

// GenerateWith makes the subsystem for a seed with n dimensions.
func GenerateWith(seed uint64, n int) *Generated {
	r := rand.New(rand.NewPCG(seed, 0x67656e6572617465))
	g := &Generated{rnd: r}
	g.description = search.Description{Name: fmt.Sprint("generated-", seed), LineRateGbps: lineRateGbps, MessageRateMpps: packetRate}
	for i := range n {
		g.description.Dimensions = append(g.description.Dimensions, dimension(i, r))
	}
	for i := range 4 + r.IntN(6) {
		g.mechanisms = append(g.mechanisms, g.mechanism())
		g.description.Counters = append(g.description.Counters, fmt.Sprint("unit", i, "_stalls"))
	}
	for i := range 1 + r.IntN(3) { // decoys: counters that no workload drives
		g.mechanisms = append(g.mechanisms, mechanism{})
		g.description.Counters = append(g.description.Counters, fmt.Sprint("background", i))
	}
	space, err := search.NewSpace(g.description.Dimensions)
	if err != nil {
		panic(err) // the generator makes only valid spaces
	}
	for range r.IntN(4) {
		if f := g.conjunction(space, nil, 2); share(space, f, nil, r) < .25 {
			g.impossible = append(g.impossible, f)
		}
	}
	g.makeAnomalies(space, 8+r.IntN(13))
	return g
}

func (g *Generated) makeAnomalies(space *search.Space, n int) {
	for range generateTries {
		if len(g.anomalies) == n {
			return
		}
		m := &g.mechanisms[g.rnd.IntN(len(g.mechanisms))]
		if g.rnd.IntN(5) == 0 {
			m = nil
		}
		f := g.conjunction(space, m, 2+g.rnd.IntN(4))
		if p := share(space, f, g.impossible, g.rnd); p < rarest || p > commonest || g.overlaps(space, f) {
			continue
		}
		text, err := json.Marshal(f)
		if err != nil {
			panic(err) // an MFS always marshals
		}
		a := generatedAnomaly{mfs: f, text: string(text), share: .2 + .5*g.rnd.Float64()}
		if g.rnd.IntN(2) == 0 {
			a.pausePercent = 1 + 20*g.rnd.Float64()
		}
		g.anomalies = append(g.anomalies, a)
	}
}

// overlaps reports whether over a third of a conjunction lies in an anomaly, or vice versa.
func (g *Generated) overlaps(space *search.Space, f *search.MFS) bool {
	const members = 60 // sampled: a standard error of .06 on a third
	for _, a := range g.anomalies {
		in, out := 0, 0
		for range members {
			if a.mfs.Covers(space.Random(g.rnd, f)) {
				in++
			}
			if f.Covers(space.Random(g.rnd, a.mfs)) {
				out++
			}
		}
		if in > members/3 || out > members/3 {
			return true
		}
	}
	return false
}

// share is the share of the workloads that meet a conjunction (see MFS.Share), or 0 if fewer
// than a quarter of these, by sampling, are feasible.
func share(space *search.Space, f *search.MFS, impossible []*search.MFS, r *rand.Rand) float64 {
	const members = 100 // sampled: a standard error of .04 on the quarter below
	possible := 0
	for range members {
		w := space.Random(r, f)
		ok := true
		for _, x := range impossible {
			ok = ok && !x.Covers(w)
		}
		if ok {
			possible++
		}
	}
	if possible < members/4 {
		return 0
	}
	return f.Share()
}

var units = []string{"B", "KB", "MB", "GB"}

// dimension returns a random dimension.
func dimension(i int, r *rand.Rand) search.Dimension {
	d := search.Dimension{Name: fmt.Sprint("d", i)}
	switch kind := r.IntN(20); {
	case i == 0 && r.IntN(5) > 0:
		d.Pattern, d.MaxLength = true, 2+r.IntN(7)
		for k := range 6 + r.IntN(9) {
			d.Values = append(d.Values, search.Number(64*math.Pow(2, float64(k))))
		}
	case kind == 0:
		d.Values = []search.Value{search.Text("only")}
	case kind < 7:
		for k := range 2 + r.IntN(5) {
			d.Values = append(d.Values, search.Text(fmt.Sprint("v", k)))
		}
	case kind < 9:
		d.Ordered = true
		for k := range 4 + r.IntN(5) {
			d.Values = append(d.Values, search.Text(fmt.Sprint(1<<(2*(k%5)), units[k/5])))
		}
	default:
		d.Ordered = true
		for k := range 2 + r.IntN(12) {
			d.Values = append(d.Values, search.Number(math.Pow(2, float64(k))))
		}
	}
	return d
}

// mechanism returns a random mechanism with two to four drivers.
func (g *Generated) mechanism() mechanism {
	r := g.rnd
	m := mechanism{}
	if r.IntN(2) == 0 {
		m.loss = largestLoss * r.Float64()
	}
	for _, i := range r.Perm(len(g.description.Dimensions))[:2+r.IntN(3)] {
		d := &g.description.Dimensions[i]
		up := r.IntN(2) == 0
		x := driver{name: d.Name, idle: .2 + .3*r.Float64(), level: map[string]float64{}}
		for k, v := range d.Values {
			level := float64(k) / float64(max(1, len(d.Values)-1))
			switch {
			case !d.Ordered && !d.Pattern:
				level = float64(r.IntN(3)) / 2
			case !up:
				level = 1 - level
			}
			x.level[v.String()] = level
		}
		m.drivers = append(m.drivers, x)
	}
	return m
}

func (m *mechanism) pressure(w search.Workload) float64 {
	p := 1.
	for _, d := range m.drivers {
		level := 0.
		values := w.Values(d.name)
		for _, v := range values {
			level += d.level[v.String()] / float64(len(values))
		}
		p *= d.idle + (1-d.idle)*level
	}
	return p
}
