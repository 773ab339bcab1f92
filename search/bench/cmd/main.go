// Command cmd prints how well each search algorithm finds the anomalies of subsystems
// with known ground truth: F and H of the paper, and generated ones; and how the
// variants of Collie compare with the paper's results.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
	"github.com/giverny/giverny/search/simulated"
)

func main() {
	subjects := flag.String("subjects", "F,H,flaky,generated,physical,hardware", "F, H, flaky (F, but 3% of set-ups fail and 10% of symptoms are missed), generated, physical, hardware; empty: none")
	algorithms := flag.String("algorithms", "lift,collie-extreme,collie,random", "which")
	seeds := flag.Int("seeds", 50, "searches of each")
	first := flag.Int("first", 12001, "seed; the rules were chosen on others")
	budget := flag.Int("budget", 1800, "experiments of each search")
	pairs := flag.Int("pairs", 1, "host pairs")
	paper := flag.Bool("paper", true, "print the variants of Collie beside the paper's Fig. 4 to 6")
	wrong := flag.Bool("wrong", false, "print the MFS that are wrong")
	flag.Parse()
	b := batch{*first, *seeds}
	err := b.table(split(*subjects), split(*algorithms), search.Config{Budget: *budget, Pairs: *pairs}, *wrong)
	if err == nil && *paper {
		err = b.paper()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// batch is a range of search seeds.
type batch struct{ first, seeds int }

// play runs one search per seed, in parallel on all processors.
func (b batch) play(subject string, cfg search.Config) ([]*bench.Result, error) {
	results := make([]*bench.Result, b.seeds)
	return results, b.each(func(i int, seed uint64) error {
		s, err := subjectOf(subject, seed)
		if err != nil {
			return err
		}
		cfg := cfg
		cfg.Seed = seed
		results[i], err = bench.Play(s, cfg)
		return err
	})
}

// each calls do with every seed, in parallel on all processors.
func (b batch) each(do func(i int, seed uint64) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range b.seeds {
		group.Go(func() error { return do(i, uint64(b.first+i)) })
	}
	return group.Wait()
}

func subjectOf(name string, seed uint64) (bench.Subject, error) {
	switch name {
	case "generated":
		return bench.Generate(seed), nil
	case "hardware":
		return bench.GenerateHardware(seed), nil
	case "physical":
		return bench.GeneratePhysical(seed), nil
	case "flaky":
		return simulated.New("F", seed, simulated.Flakiness{SetupFailed: .03, MissedSymptom: .1})
	}
	return simulated.New(name, seed, simulated.Flakiness{})
}

func (b batch) table(subjects, algorithms []string, cfg search.Config, wrong bool) error {
	if len(subjects) == 0 {
		return nil
	}
	fmt.Printf("Mean of %d searches, ± its standard error; found by 600, 1200 and 1800 experiments; reports that stand at the end.\n\n", b.seeds)
	fmt.Println("| subsystem | algorithm | anomalies | @600 | @1200 | @1800 | median to all | dimensions right | exact | repeated |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, subject := range subjects {
		for _, algorithm := range algorithms {
			cfg.Algorithm = search.Algorithm(algorithm)
			results, err := b.play(subject, cfg)
			if err != nil {
				return err
			}
			row(subject, algorithm, results)
			if wrong {
				printWrong(results)
			}
		}
	}
	return nil
}

func printWrong(results []*bench.Result) {
	for _, r := range results {
		for _, w := range r.Wrong {
			fmt.Println("  ", w)
		}
	}
}

func row(subject, algorithm string, results []*bench.Result) {
	var all []int
	var total, dims, exact, reported, repeated int
	for _, r := range results {
		all = append(all, cmp.Or(r.All(), math.MaxInt))
		total += r.Anomalies
		dims += r.Dims
		exact += r.Exact
		reported += r.Reported - r.Boxless
		repeated += r.Repeated
	}
	slices.Sort(all)
	median := "-"
	if m := all[(len(all)-1)/2]; m < math.MaxInt {
		median = fmt.Sprint(m)
	}
	n := float64(len(results))
	by := func(experiment int) string {
		return meanOf(results, func(r *bench.Result) float64 { return float64(r.FoundBy(experiment)) })
	}
	percent := func(part int) string {
		if reported == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(reported))
	}
	fmt.Printf("| %s | %s | %.1f | %s | %s | %s | %s | %s | %s | %.2f |\n", subject, algorithm, float64(total)/n,
		by(600), by(1200), by(1800), median, percent(dims), percent(exact), float64(repeated)/n)
}

// meanOf formats the mean of a figure with its standard error.
func meanOf[T any](list []T, figure func(T) float64) string {
	sum, squares, n := 0., 0., float64(len(list))
	for _, x := range list {
		sum += figure(x)
		squares += figure(x) * figure(x)
	}
	m := sum / n
	return fmt.Sprintf("%.2f ± %.2f", m, math.Sqrt(max(0, squares/n-m*m)/max(1, n-1)))
}
