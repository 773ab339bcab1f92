package bench

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/giverny/giverny/search"
)

// conjunction returns a random MFS of n conditions: first on a mechanism's drivers,
// towards higher pressure, the rest on any dimensions.
func (g *Generated) conjunction(space *search.Space, m *mechanism, n int) *search.MFS {
	conditions := map[string]search.Condition{}
	if m != nil {
		for _, d := range m.drivers[:min(len(m.drivers), 1+g.rnd.IntN(3))] {
			if len(conditions) < n {
				g.condition(conditions, d.name, d.level)
			}
		}
	}
	for range 100 {
		if len(conditions) >= n {
			break
		}
		d := g.description.Dimensions[g.rnd.IntN(len(g.description.Dimensions))]
		if _, ok := conditions[d.Name]; !ok {
			g.condition(conditions, d.Name, nil)
		}
	}
	text, err := json.Marshal(conditions)
	if err != nil {
		panic(err) // conditions always marshal
	}
	f, err := space.ParseMFS(text)
	if err != nil {
		panic(err) // the conditions are of this space
	}
	return f
}

// condition adds a random condition on a dimension, towards the higher level if levels
// are given. A dimension with a single value gets none.
func (g *Generated) condition(to map[string]search.Condition, name string, level map[string]float64) {
	r := g.rnd
	i := slices.IndexFunc(g.description.Dimensions, func(d search.Dimension) bool { return d.Name == name })
	d := &g.description.Dimensions[i]
	n := len(d.Values)
	if n < 2 {
		return
	}
	up := r.IntN(2) == 0
	if level != nil {
		up = level[d.Values[n-1].String()] > level[d.Values[0].String()]
	}
	some := 1 + r.IntN(max(1, int(math.Round(.4*float64(n)))))
	some = min(some, n-1)
	bounds := search.Bounds{Max: &d.Values[some-1]}
	if up {
		bounds = search.Bounds{Min: &d.Values[n-some]}
	}
	if r.IntN(10) == 0 && n >= 5 { // a window
		lo := 1 + r.IntN(n-3)
		bounds = search.Bounds{Min: &d.Values[lo], Max: &d.Values[min(n-2, lo+1+r.IntN(2))]}
	}
	switch {
	case d.Pattern && r.IntN(3) == 0:
		a, b := r.IntN((n+1)/2), n-1-r.IntN(n/3)
		to[name] = search.Condition{Any: []search.Bounds{{Max: &d.Values[min(a, b-1)]}, {Min: &d.Values[b]}}}
	case d.Pattern:
		to[name] = search.Condition{All: &bounds}
	case d.Ordered:
		to[name] = search.Condition{Bounds: bounds}
	default:
		to[name] = search.Condition{In: g.someValues(d, level)}
	}
}

// someValues returns the values of the highest level, or else one or two random ones.
func (g *Generated) someValues(d *search.Dimension, level map[string]float64) (in []search.Value) {
	if level != nil {
		for _, v := range d.Values {
			if level[v.String()] == 1 {
				in = append(in, v)
			}
		}
		if len(in) > 0 && len(in) <= (len(d.Values)+1)/2 {
			return in
		}
	}
	first := g.rnd.IntN(len(d.Values))
	in = []search.Value{d.Values[first]}
	if len(d.Values) > 3 && g.rnd.IntN(4) == 0 {
		in = append(in, d.Values[(first+1)%len(d.Values)])
	}
	return in
}

// Describe returns the subsystem's description.
func (g *Generated) Describe() search.Description { return g.description }

// Truth returns the MFS of each anomaly, numbered from 1.
func (g *Generated) Truth() map[int]string {
	truth := map[int]string{}
	for i, a := range g.anomalies {
		truth[i+1] = a.text
	}
	return truth
}

// Anomalies returns the anomalies that a workload triggers.
func (g *Generated) Anomalies(w search.Workload) (numbers []int) {
	for i := range g.anomalies {
		if g.anomalies[i].mfs.Covers(w) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Measure runs a workload.
func (g *Generated) Measure(w search.Workload) search.Measurement {
	for _, f := range g.impossible {
		if f.Covers(w) {
			return search.Measurement{Status: search.Invalid}
		}
	}
	m := search.Measurement{Status: search.OK, Seconds: 30, Counters: map[string]float64{}}
	loss := 0.
	for i := range g.mechanisms {
		p := g.mechanisms[i].pressure(w)
		loss += g.mechanisms[i].loss * p
		m.Counters[g.description.Counters[i]] = 1e5 * p * math.Exp(counterNoise*g.rnd.NormFloat64())
	}
	share, pause := 1-min(largestLoss, loss), 0.
	for _, n := range g.Anomalies(w) {
		share, pause = min(share, g.anomalies[n-1].share), max(pause, g.anomalies[n-1].pausePercent)
	}
	rate := share * (1 + rateNoise*g.rnd.NormFloat64())
	m.Directions = []search.Direction{{Gbps: rate * lineRateGbps, Mpps: rate * lineRateGbps / 8, SizeBytes: 1000}}
	m.TxPausePercent = []float64{0, pause}
	return m
}
