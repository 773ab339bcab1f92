package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
	"github.com/giverny/giverny/search/simulated"
)

// tenHours is the time of each search in the paper (section 7.2), in the subsystem's time.
const (
	tenHours = 10 * 3600.
	budget   = 1800 // experiments, enough for longer than that
)

// variant is a search of the paper's Fig. 4 to 6, with the paper's result.
type variant struct {
	name, paper string
	cfg         search.Config
}

func variants() []variant {
	return []variant{
		{"random workloads, no MFS", "7 (Fig. 4)", search.Config{Algorithm: search.Random, NoMFS: true}},
		{"SA (Perf): throughput, no MFS", "fewer and later than Collie (Perf) (Fig. 5)", search.Config{Algorithm: search.Collie, PerformanceOnly: true, NoMFS: true}},
		{"SA (Diag): counters, no MFS", "all that it finds in about twice the time of Collie (Diag) (Fig. 5)", search.Config{Algorithm: search.Collie, NoMFS: true}},
		{"Collie (Perf): throughput, MFS", "11 (Fig. 5)", search.Config{Algorithm: search.Collie, PerformanceOnly: true}},
		{"Collie (Diag): counters, MFS", "13 (Fig. 4, 5)", search.Config{Algorithm: search.Collie}},
		{"Collie (Diag), proposals at the ends", "", search.Config{Algorithm: search.CollieExtreme}},
		{"random workloads, careful MFS", "", search.Config{Algorithm: search.Random}},
		{"lift", "", search.Config{Algorithm: search.Lift}},
	}
}

// curve is one search of F as in Fig. 6.
type curve struct {
	result  *bench.Result
	seconds []float64 // search time at the end of each experiment
	counter []float64 // receive WQE cache misses of each experiment, relative to the maximum
}

// recorder is a subject that records the counter of Fig. 6.
type recorder struct {
	bench.Subject
	curve curve
	now   float64
}

const figureCounter = "receive_wqe_cache_misses"

// Measure measures and records a workload.
func (r *recorder) Measure(w search.Workload) search.Measurement {
	m := r.Subject.Measure(w)
	if m.Status == search.Invalid {
		return m
	}
	r.now += m.Seconds
	r.curve.seconds = append(r.curve.seconds, r.now)
	r.curve.counter = append(r.curve.counter, m.Counters[figureCounter])
	return m
}

// curves returns the curves of a variant, one per seed.
func (b batch) curves(cfg search.Config) ([]*curve, error) {
	curves := make([]*curve, b.seeds)
	return curves, b.each(func(i int, seed uint64) error {
		s, err := simulated.New("F", seed, simulated.Flakiness{})
		if err != nil {
			return err
		}
		cfg := cfg
		cfg.Seed, cfg.Budget = seed, budget
		r := &recorder{Subject: s}
		if r.curve.result, err = bench.Play(r, cfg); err != nil {
			return err
		}
		most := slices.Max(r.curve.counter)
		for k := range r.curve.counter {
			r.curve.counter[k] /= most
		}
		curves[i] = &r.curve
		return nil
	})
}

// paper prints the variants of Collie on F next to Fig. 4 to 6. The paper's text does
// not contain the curves; the last column has what the text says of them.
func (b batch) paper() error {
	fmt.Printf("\nF beside the paper's Fig. 4 and 5: found in 10 hours of the subsystem's time, experiments in them, mean minutes to the nth anomaly (share of the searches that found as many in that time).\n\n")
	fmt.Println("| search | found in 10 hours | experiments | 3rd | 5th | 7th | 9th | 11th | 13th | the paper |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	all := map[string][]*curve{}
	for _, v := range variants() {
		curves, err := b.curves(v.cfg)
		if err != nil {
			return err
		}
		all[v.name] = curves
		fmt.Printf("| %s | %s | %.0f |", v.name, meanOf(curves, func(c *curve) float64 { return float64(c.result.FoundIn(tenHours)) }),
			average(curves, func(c *curve) float64 { return float64(len(c.within(0, tenHours))) }))
		for _, n := range []int{3, 5, 7, 9, 11, 13} {
			fmt.Printf(" %s |", minutesTo(curves, n))
		}
		fmt.Printf(" %s |\n", v.paper)
	}
	figure6(all)
	return nil
}

// minutesTo is the time to the nth anomaly, over the searches that found it in ten hours.
func minutesTo(curves []*curve, n int) string {
	sum, found := 0., 0
	for _, c := range curves {
		var at []float64
		for _, s := range c.result.Seconds {
			at = append(at, s)
		}
		if slices.Sort(at); len(at) >= n && at[n-1] <= tenHours {
			sum += at[n-1] / 60
			found++
		}
	}
	if found == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f (%.0f%%)", sum/float64(found), 100*float64(found)/float64(len(curves)))
}

// figure6 prints one counter over time.
func figure6(all map[string][]*curve) {
	fmt.Printf("\nF beside the paper's Fig. 6: %s as a share of the most in that search, mean by hours, and where anomalies were first seen.\n\n", figureCounter)
	fmt.Println("| search | 0 to 2 | 2 to 4 | 4 to 6 | 6 to 8 | 8 to 10 | at anomalies | the paper |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, v := range []struct{ name, paper string }{
		{"random workloads, no MFS", "not driven up"},
		{"SA (Diag): counters, no MFS", "very high"},
		{"Collie (Diag): counters, MFS", "high; most anomalies where it is high"},
		{"lift", ""},
	} {
		fmt.Printf("| %s |", v.name)
		for from := 0.; from < tenHours; from += tenHours / 5 {
			fmt.Printf(" %.2f |", average(all[v.name], func(c *curve) float64 {
				return average(c.within(from, from+tenHours/5), func(x float64) float64 { return x })
			}))
		}
		fmt.Printf(" %.2f | %s |\n", average(all[v.name], (*curve).atAnomalies), v.paper)
	}
}

// within returns the counter of the experiments that ended in a time range.
func (c *curve) within(from, to float64) (values []float64) {
	for k, at := range c.seconds {
		if from < at && at <= to {
			values = append(values, c.counter[k])
		}
	}
	return values
}

// atAnomalies is the mean of the counter at the experiments that first showed an anomaly.
func (c *curve) atAnomalies() float64 {
	var values []float64
	for n, at := range c.result.Found {
		if c.result.Seconds[n] <= tenHours {
			values = append(values, c.counter[at-1])
		}
	}
	slices.Sort(values) // makes the sum independent of map order
	return average(values, func(x float64) float64 { return x })
}

func average[T any](list []T, figure func(T) float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sum := 0.
	for _, x := range list {
		sum += figure(x)
	}
	return sum / float64(len(list))
}
