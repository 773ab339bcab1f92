// Command cmd prints how well and how fast each method finds the regions of
// each test set: go run ./segment/bench/cmd.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// firstTestSeed separates test samples from those that constants were chosen
// on, which have smaller seeds.
const firstTestSeed = 1_000_000

func main() {
	samples := flag.Int("samples", 100, "samples per set")
	seed := flag.Int64("seed", firstTestSeed, "first seed")
	sets := flag.String("sets", "cube,torus,hard,prod,fattree", "sets, by name")
	methods := flag.String("methods", "paper,statistical,overlap", "methods: paper, statistical, or overlap for statistical with overlap")
	verbose := flag.Bool("v", false, "a line per sample")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	if err := run(*samples, *seed, strings.Split(*sets, ","), strings.Split(*methods, ","), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(samples int, seed int64, sets, methods []string, verbose bool) error {
	fmt.Printf("%-12s %-8s %15s %15s %15s %10s\n", "method", "set", "score", "precision", "recall", "CPU ms")
	for _, set := range bench.Sets() {
		if !slices.Contains(sets, set.Name) {
			continue
		}
		g, err := topology.Parse("bench", set.Topology)
		if err != nil {
			return err
		}
		for _, name := range methods {
			cfg := segment.DefaultConfig()
			switch name {
			case "paper":
				cfg.Method = segment.Paper
			case "overlap":
				cfg.Overlap = true
			}
			if err := measure(g, set, name, cfg, samples, seed, verbose); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure prints one line of the table.
func measure(g *topology.Graph, set bench.Set, name string, cfg segment.Config, samples int, seed int64, verbose bool) error {
	s, err := segment.New(g, cfg)
	if err != nil {
		return err
	}
	tracker, err := tracking.New(g, tracking.DefaultConfig())
	if err != nil {
		return err
	}
	var score, precision, recall, cpu []float64
	for i := range samples {
		sample := set.Sample(g, seed+int64(i))
		s.Step(sample.Snapshot) // warm
		began := cpuTime()
		regions := s.Step(sample.Snapshot)
		tracker.Step(schema.Interval{StartNanos: int64(i) * 60e9, DurationNanos: 60e9}, regions)
		cpu = append(cpu, float64(cpuTime()-began)/1e6)
		r := bench.Score(sample.Truth, regions)
		score, precision, recall = append(score, r.Score), append(precision, r.Precision), append(recall, r.Recall)
		if verbose {
			fmt.Printf("  seed %d: %d true, %d found, score %.3f\n", seed+int64(i), r.True, r.Found, r.Score)
		}
	}
	slices.Sort(cpu)
	fmt.Printf("%-12s %-8s %15s %15s %15s %10.2f\n", name, set.Name, meanAndError(score), meanAndError(precision), meanAndError(recall), cpu[len(cpu)/2])
	return nil
}

// meanAndError is the mean and its standard error.
func meanAndError(x []float64) string {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	mean := sum / n
	deviation := math.Sqrt(max(0, squares/n-mean*mean))
	return fmt.Sprintf("%.4f ± %.4f", mean, deviation/math.Sqrt(n))
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the call has no way to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
