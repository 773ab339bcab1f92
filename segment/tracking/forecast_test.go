package tracking_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// process is a region whose mean builds up and subsides as Monet observed: it reverts
// to a level set by its load, with momentum and noise, and loads come and go.
type process struct {
	mean, slope, target float64
	rest                int // intervals without load
}

func (p *process) step(r *rand.Rand) {
	if p.rest > 0 {
		p.rest--
		return
	}
	switch {
	case r.Float64() < .04:
		p.target = 3 + 37*r.Float64()
	case r.Float64() < .02:
		p.mean, p.slope, p.rest = 0, 0, 3+r.IntN(20)
		return
	}
	p.slope = .6*p.slope + .1*(p.target-p.mean) + .6*r.NormFloat64()
	p.mean = min(max(p.mean+p.slope, 0), 100)
}

// calibration counts, by tenth of the forecast probability, how often the outcome occurred.
type calibration struct{ said, came, n [10]float64 }

func (c *calibration) add(p float64, came bool) {
	i := min(9, int(10*p))
	c.said[i] += p
	c.n[i]++
	if came {
		c.came[i]++
	}
}

func (c *calibration) check(t *testing.T, what string) {
	t.Helper()
	for i, n := range c.n {
		if n < 500 {
			continue
		}
		said, came := c.said[i]/n, c.came[i]/n
		if math.Abs(said-came) > .06 {
			t.Errorf("%s: said %.2f, came true %.2f of %.0f times", what, said, came, n)
		}
	}
}

// Forecasts of 20 regions over 2,000 intervals beat persistence at both lead times, and
// are calibrated.
func TestForecastsOfProcesses(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 7))
		tr := newTracker(t)
		processes := make([]process, 20)
		var cal [2]calibration
		said := map[uint64][schema.LaterIntervals]schema.Forecast{} // by region, newest first
		for now := range 2000 {
			var in []schema.Region
			for i := range processes {
				if processes[i].step(r); processes[i].mean >= 5 {
					in = append(in, region(70*i, 70*i+60, processes[i].mean))
				}
			}
			res := tr.Step(minuteAt(now), in)
			state := map[uint64]schema.RegionState{}
			for i := range res.Regions {
				state[res.Regions[i].ID] = schema.RegionState(res.Regions[i].Severity)
			}
			for id, o := range said {
				became, here := state[id]
				if !here {
					became = schema.Gone
				}
				for s := range schema.RegionState(schema.NumStates) {
					if now > 300 && o[0] != (schema.Forecast{}) {
						cal[0].add(o[0].Next[s], s == became)
					}
					if now > 300 && o[schema.LaterIntervals-1] != (schema.Forecast{}) {
						cal[1].add(o[schema.LaterIntervals-1].Later[s], s == became)
					}
				}
				copy(o[1:], o[:])
				o[0] = schema.Forecast{}
				if said[id] = o; o == [schema.LaterIntervals]schema.Forecast{} {
					delete(said, id)
				}
			}
			for i, out := range res.Forecasts {
				o := said[res.Regions[i].ID]
				o[0] = out
				said[res.Regions[i].ID] = o
			}
		}
		next, later := tr.Skill()
		t.Logf("seed %d: next: Brier %.4f, persistence %.4f; later: %.4f, %.4f; %d forecasts", seed, next.Brier, next.Persistence, later.Brier, later.Persistence, next.Forecasts)
		if next.Brier > .85*next.Persistence || later.Brier > .75*later.Persistence {
			t.Errorf("seed %d: forecasts hardly beat persistence", seed)
		}
		cal[0].check(t, "next")
		cal[1].check(t, "later")
	}
}

// The regions of simulated stories, from the links' stalls; each story starts with an
// untrained model.
func TestForecastsOfStories(t *testing.T) {
	var sum [2]schema.ForecastSkill
	for _, name := range []string{"demo", "enzo", "blade"} {
		next, later := forecastStory(t, name)
		t.Logf("%s: next: Brier %.4f, persistence %.4f; later: %.4f, %.4f; %d forecasts", name, next.Brier, next.Persistence, later.Brier, later.Persistence, next.Forecasts)
		for i, s := range [2]schema.ForecastSkill{next, later} {
			n := float64(s.Forecasts)
			sum[i].Forecasts += s.Forecasts
			sum[i].Brier += n * s.Brier
			sum[i].Persistence += n * s.Persistence
		}
	}
	for i, s := range sum {
		n := float64(s.Forecasts)
		t.Logf("look %d, all stories: Brier %.4f, persistence %.4f, %d forecasts", i, s.Brier/n, s.Persistence/n, s.Forecasts)
		if s.Forecasts == 0 || s.Brier >= s.Persistence {
			t.Errorf("look %d: forecasts do not beat persistence", i)
		}
	}
}

func forecastStory(t *testing.T, name string) (next, later schema.ForecastSkill) {
	t.Helper()
	script, err := scenario.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	run, err := scenario.New(nil, script, 1, minuteAt(0).StartNanos)
	if err != nil {
		t.Fatal(err)
	}
	cfg := segment.DefaultConfig()
	seg, err := segment.New(run.Graph(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tracking.New(run.Graph(), tracking.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.New(rand.NewPCG(1, 1))
	for step, ok := run.Step(); ok; step, ok = run.Step() {
		tr.Step(step.Interval, seg.Step(measured(run.Graph(), &step, noise)))
	}
	return tr.Skill()
}

// measured is a snapshot of the links' stalls, with a floor and noise.
func measured(g *topology.Graph, step *scenario.Step, noise *rand.Rand) *schema.Snapshot {
	n := g.NumLinks()
	series := schema.Series{Metric: schema.CreditStall, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
	for l := range n {
		series.Valid.Set(l)
		series.Values[l] = float32(math.Abs(1.1 + .5*noise.NormFloat64()))
	}
	for _, l := range step.Truth.Links {
		series.Values[l.Link] += float32(l.CreditPercent)
	}
	return &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Interval: step.Interval, Links: n, Series: []schema.Series{series}}
}
