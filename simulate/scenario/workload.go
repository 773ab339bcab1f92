package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Workload fills a fabric with jobs that come and go, with sizes and durations like
// those of Blue Waters (Monet, appendix B): three in four jobs have one node and use a
// twentieth of the node-hours; the few large ones use the rest.
type Workload struct {
	Jobs               int     `yaml:"jobs"`                 // number running at a time
	FillPercent        float64 `yaml:"fill_percent"`         // of the nodes, used by all jobs together
	GigabytesPerSecond float64 `yaml:"gigabytes_per_second"` // median send rate of a node
}

func (w *Workload) validate() error {
	var errs []error
	if w.Jobs < 1 {
		errs = append(errs, fmt.Errorf("workload: jobs %d: want 1 or more", w.Jobs))
	}
	if w.FillPercent < 0 || w.FillPercent > 95 {
		errs = append(errs, fmt.Errorf("workload: fill_percent %v: want 0 to 95", w.FillPercent))
	}
	if w.GigabytesPerSecond < 0 {
		errs = append(errs, fmt.Errorf("workload: gigabytes_per_second %v: want 0 or more", w.GigabytesPerSecond))
	}
	return errors.Join(errs...)
}

// Parameters of the distributions.
const (
	singleNodeShare = .74 // of jobs (Monet, appendix B)
	sizeSigma       = 1.3 // of the logarithm of the others' sizes
	lifeMedian      = 50 * time.Minute
	lifeSigma       = 1.2
	lifeMost        = 48 * time.Hour // Blue Waters' limit
	ioMost          = 2.             // gigabytes per second between a job and the file system
)

// generator draws jobs.
type generator struct {
	w      *Workload
	rng    *rand.Rand
	median float64 // size of a job with more than one node
	most   int
	drawn  int
}

func newGenerator(w *Workload, hosts int, rng *rand.Rand) *generator {
	fillPercent := cmp.Or(w.FillPercent, 80)
	mean := max(2, (float64(hosts)*fillPercent/100/float64(w.Jobs)-singleNodeShare)/(1-singleNodeShare))
	return &generator{w: w, rng: rng, median: mean / math.Exp(sizeSigma*sizeSigma/2), most: max(1, hosts/5)}
}

// draw returns a job that starts at the given time; one of the first generation has
// already been running for a while.
func (g *generator) draw(now, step time.Duration) Job {
	g.drawn++
	nodes := 1
	if g.rng.Float64() >= singleNodeShare {
		nodes = 2 + int(min(float64(g.most-2), g.median*math.Exp(sizeSigma*g.rng.NormFloat64())))
	}
	life := time.Duration(float64(lifeMedian) * math.Exp(lifeSigma*g.rng.NormFloat64()))
	if now == 0 {
		life = time.Duration(float64(life) * g.rng.Float64())
	}
	life = max(step, min(life, lifeMost)).Round(step)
	app := applications[g.rng.IntN(len(applications))]
	rate := g.w.GigabytesPerSecond * math.Exp(.5*g.rng.NormFloat64())
	j := Job{ID: fmt.Sprintf("w%d", g.drawn), Name: app.name, User: fmt.Sprintf("user%02d", g.rng.IntN(60)), Nodes: nodes, Start: now, End: now + life}
	j.Traffic = []Traffic{{Pattern: app.pattern, GigabytesPerSecond: rate * app.share, WavePercent: 10}}
	if burst := time.Duration(g.rng.IntN(3)) * time.Minute; burst > 0 {
		period := time.Duration(10+g.rng.IntN(30)) * time.Minute
		j.Traffic = append(j.Traffic, Traffic{Pattern: app.io, GigabytesPerSecond: min(rate, ioMost/float64(nodes)), Period: period, Active: max(burst, step),
			Offset: time.Duration(g.rng.Int64N(int64(period))).Round(step)})
	}
	return j
}

// applications of the kinds that ran on Blue Waters, with their typical patterns; share
// is the relative send rate of a node.
var applications = []struct {
	name    string
	pattern Pattern
	io      Pattern
	share   float64
}{{"NAMD", Halo, WriteFS, 1}, {"MILC", Halo, WriteFS, 1.5}, {"PSDNS", AllToAll, WriteFS, .5}, {"Enzo", Halo, ReadFS, .8},
	{"VariantCalling", Random, ReadFS, .3}, {"QMCPACK", Ring, WriteFS, .5}, {"WRF", Halo, WriteFS, .8}, {"ChaNGa", AllToAll, ReadFS, .3}}
