// Command cmd prints the accuracy and speed of each method on each test set:
//
//	go run ./segment/bench/cmd              every set, every method
//	go run ./segment/bench/cmd -noise       the cube at rising noise
//	go run ./segment/bench/cmd -markdown    either, as a Markdown table
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/giverny/giverny/segment/bench"
)

// firstTestSeed separates test samples from the training samples that constants were
// chosen on, which have smaller seeds.
const firstTestSeed = 1_000_000

func main() {
	var o options
	flag.IntVar(&o.samples, "samples", 100, "samples per set")
	flag.Int64Var(&o.seed, "seed", firstTestSeed, "first seed")
	sets := flag.String("sets", strings.Join(setNames(), ","), "sets, by name")
	methods := flag.String("methods", "oracle,paper,statistical,overlap,threshold,directed",
		"methods: paper, statistical, overlap for statistical with overlap, oracle for the best that is possible without, and, on directed links only, threshold for links at 5% that share a switch, directed for those that traffic passes between")
	noise := flag.Bool("noise", false, "the cube of appendix D at rising noise, instead of the sets")
	flag.BoolVar(&o.verbose, "v", false, "a line per sample, before the line of the set")
	flag.BoolVar(&o.markdown, "markdown", false, "write a Markdown table")
	flag.Parse()
	o.methods = strings.Split(*methods, ",")
	runtime.GOMAXPROCS(1)
	runs, err := chosen(*noise, strings.Split(*sets, ","))
	if err == nil {
		err = o.print(os.Stdout, runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is a set with its name in the table.
type run struct {
	name string
	set  bench.Set
}

// noiseSigmas are the points of the noise curve, in percent points; Appendix D uses
// 2.5.
var noiseSigmas = []float64{0, 1, 2.5, 3.5, 5, 6, 7.5}

// chosen lists the sets to run.
func chosen(noise bool, names []string) ([]run, error) {
	var runs []run
	if noise {
		for _, sigma := range noiseSigmas {
			runs = append(runs, run{fmt.Sprintf("%.1f", sigma), bench.NoisyCube(sigma)})
		}
		return runs, nil
	}
	known := setNames()
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("set %q: want one of %s", name, strings.Join(known, ", "))
		}
		runs = append(runs, run{name, bench.AllSets()[i]})
	}
	return runs, nil
}

func setNames() (names []string) {
	for _, s := range bench.AllSets() {
		names = append(names, s.Name)
	}
	return names
}
