// Command cmd prints how well each search algorithm finds the anomalies of subsystems
// whose truth is known: F and H of the paper, and generated ones.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
	"github.com/giverny/giverny/search/simulated"
)

func main() {
	subjects := flag.String("subjects", "F,H,generated", "F, H, flaky (F, but 3% of set-ups fail and 10% of symptoms are missed), generated")
	algorithms := flag.String("algorithms", "lift,collie,collie-extreme,random", "which")
	seeds := flag.Int("seeds", 50, "searches of each")
	first := flag.Int("first", 1, "seed")
	budget := flag.Int("budget", 1800, "experiments of each search")
	wrong := flag.Bool("wrong", false, "print the MFS that are wrong")
	flag.Parse()
	for _, subject := range strings.Split(*subjects, ",") {
		for _, algorithm := range strings.Split(*algorithms, ",") {
			cfg := search.Config{Algorithm: search.Algorithm(algorithm), Budget: *budget}
			results, err := play(subject, cfg, *first, *seeds)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			print(subject, algorithm, results, *budget, *wrong)
		}
	}
}

// play runs one search for each seed, as many at a time as there are processors.
func play(subject string, cfg search.Config, first, seeds int) ([]*bench.Result, error) {
	results, errs := make([]*bench.Result, seeds), make([]error, seeds)
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range seeds {
		wait.Add(1)
		free <- struct{}{}
		go func() {
			defer wait.Done()
			defer func() { <-free }()
			seed := cfg
			seed.Seed = uint64(first + i)
			var s bench.Subject
			if s, errs[i] = make1(subject, seed.Seed); errs[i] == nil {
				results[i], errs[i] = bench.Play(s, seed)
			}
		}()
	}
	wait.Wait()
	return results, cmp.Or(errs...)
}

func make1(subject string, seed uint64) (bench.Subject, error) {
	switch subject {
	case "generated":
		return bench.Generate(seed), nil
	case "flaky":
		return simulated.New("F", seed, simulated.Flakiness{SetupFailed: .03, MissedSymptom: .1})
	}
	return simulated.New(subject, seed, simulated.Flakiness{})
}

func print(subject, algorithm string, results []*bench.Result, budget int, wrong bool) {
	n := float64(len(results))
	var all []int
	var by [4]int
	var total, dims, exact, reported, repeated, spurious int
	for _, r := range results {
		all = append(all, cmp.Or(r.All(), 1<<30))
		for i := range by {
			by[i] += r.FoundBy((i + 1) * 600)
		}
		total += r.Anomalies
		dims += r.Dims
		exact += r.Exact
		reported += r.Reported
		repeated += r.Repeated
		spurious += r.Spurious
		if wrong {
			for _, w := range r.Wrong {
				fmt.Println("  ", w)
			}
		}
	}
	slices.Sort(all)
	median := "-"
	if m := all[(len(all)-1)/2]; m < 1<<30 {
		median = fmt.Sprint(m)
	}
	fmt.Printf("%-10s %-15s @600 %5.2f @1200 %5.2f @1800 %5.2f of %.2f; median all %4s; dims %.1f%% exact %.1f%%; repeated %.2f spurious %.2f\n", subject, algorithm,
		float64(by[0])/n, float64(by[1])/n, float64(by[2])/n, float64(total)/n, median,
		100*float64(dims)/float64(max(1, reported)), 100*float64(exact)/float64(max(1, reported)), float64(repeated)/n, float64(spurious)/n)
}
