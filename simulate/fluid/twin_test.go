package fluid_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
)

// twinFlow is a flow for the naive twin.
type twinFlow struct {
	demand float64
	path   []fluid.Resource
}

// naive computes max-min fairness by its definition: raise all rates together until a
// resource is full or a demand is met, freeze the flows concerned, continue.
func naive(flows []twinFlow, capacity func(fluid.Resource) float64) []float64 {
	rates, frozen := make([]float64, len(flows)), make([]bool, len(flows))
	for {
		used, open := map[fluid.Resource]float64{}, map[fluid.Resource]float64{}
		for i, f := range flows {
			for _, r := range f.path {
				used[r] += rates[i]
				if !frozen[i] {
					open[r]++
				}
			}
		}
		raise := math.Inf(1)
		for i, f := range flows {
			if !frozen[i] {
				raise = math.Min(raise, f.demand-rates[i])
				for _, r := range f.path {
					raise = math.Min(raise, (capacity(r)-used[r])/open[r])
				}
			}
		}
		if math.IsInf(raise, 1) {
			return rates
		}
		raise = math.Max(0, raise)
		for i, f := range flows {
			if frozen[i] {
				continue
			}
			rates[i] += raise
			stop := rates[i] >= f.demand*(1-1e-12)
			for _, r := range f.path {
				stop = stop || capacity(r)-used[r]-raise*open[r] <= capacity(r)*1e-12
			}
			frozen[i] = stop
		}
	}
}

// drawn returns a random fabric with random flows in several groups.
func drawn(t *rapid.T, ratio float64) (*bench, []*fluid.Flows, []twinFlow) {
	spec := rapid.SampledFrom([]string{"torus:4x3x2", "mesh:3x3", "fattree:k=4,gbps=40", "dragonfly:groups=3,routers=2,hosts=2,gbps=40"}).Draw(t, "spec")
	cfg := fluid.DefaultConfig()
	cfg.VictimRatio = ratio
	b := newBench(t, spec, cfg)
	hosts := b.graph.Hosts()
	for _, h := range rapid.SliceOfN(rapid.IntRange(0, len(hosts)-1), 0, 2).Draw(t, "slow") {
		b.model.SetShare(b.model.Receive(hosts[h]), rapid.Float64Range(0, 1).Draw(t, "share"))
	}
	var groups []*fluid.Flows
	var twins []twinFlow
	sent := map[fluid.Resource]float64{}
	for g := range rapid.IntRange(1, 3).Draw(t, "groups") {
		f := &fluid.Flows{Owner: g, Scale: rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "scale")}
		for range rapid.IntRange(1, 12).Draw(t, "flows") {
			src, dst := rapid.SampledFrom(hosts).Draw(t, "src"), rapid.SampledFrom(hosts).Draw(t, "dst")
			if src == dst {
				continue
			}
			path, _ := b.router.Append(nil, src, dst, uint64(g))
			f.Add(b.model, rapid.Float64Range(1e6, 12e9).Draw(t, "demand"), src, dst, path, false)
		}
		groups = append(groups, f)
	}
	for _, f := range groups {
		for i := range f.Len() {
			sent[f.Path(i)[0]] += f.Demand(i) * f.Scale
		}
	}
	for _, f := range groups {
		for i := range f.Len() {
			if send := f.Path(i)[0]; f.Scale > 0 {
				limit := math.Min(1, b.model.Capacity(send)/sent[send])
				twins = append(twins, twinFlow{f.Demand(i) * f.Scale * limit, f.Path(i)[1:]})
			}
		}
	}
	return b, groups, twins
}

func TestRatesAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, groups, twins := drawn(t, math.Inf(1))
		var s fluid.State
		b.model.Solve(groups, &s)
		want := make([]float64, b.channels.Len())
		for i, rate := range naive(twins, b.model.Capacity) {
			for _, r := range twins[i].path {
				if int(r) < len(want) {
					want[r] += rate
				}
			}
		}
		for ch := range want {
			if got := s.LoadBytesPerSecond[ch]; math.Abs(got-want[ch]) > 1e-6*math.Max(1e6, want[ch]) {
				t.Fatalf("%s carries %v, the twin says %v", b.channels.Name(routing.Channel(ch)), got, want[ch])
			}
		}
	})
}
