package main

import (
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/giverny/giverny/internal/table"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

type options struct {
	samples           int
	seed              int64
	methods           []string
	verbose, markdown bool
}

// print evaluates every method on every set and prints a line for each.
func (o *options) print(w io.Writer, runs []run) error {
	if o.samples < 1 {
		return fmt.Errorf("samples %d: want at least 1", o.samples)
	}
	t := table.Table{W: w, Markdown: o.markdown, Columns: columns}
	t.Head()
	graphs := map[string]*topology.Graph{}
	for _, r := range runs {
		g := graphs[r.set.Topology]
		if g == nil {
			var err error
			if g, err = r.set.Graph(); err != nil {
				return err
			}
			graphs[r.set.Topology] = g
		}
		samples := make([]bench.Sample, o.samples)
		for i := range samples {
			samples[i] = r.set.Sample(g, o.seed+int64(i))
		}
		for _, method := range o.methods {
			if isThreshold(method) && g.Duplex() {
				continue
			}
			line, err := o.measure(w, g, method, samples)
			if err != nil {
				return err
			}
			row(&t, r.name, method, line)
		}
	}
	return nil
}

// line is the data of a table line.
type line struct {
	score, precision, recall           []float64 // by sample
	found, leaked, links, outsideLinks int
	roots, rootsRight                  int
	cpuMillis                          []float64 // of a step including tracking, by sample; nil for the oracle
}

func (o *options) measure(w io.Writer, g *topology.Graph, method string, samples []bench.Sample) (line, error) {
	var l line
	if method == "oracle" {
		for i := range samples {
			l.add(bench.Oracle(samples[i].Truth))
		}
		return l, nil
	}
	step, err := stepper(g, method)
	if isThreshold(method) {
		step, err = func(snap *schema.Snapshot) []schema.Region { return bench.Threshold(g, snap, method == "directed") }, nil
	}
	if err != nil {
		return l, err
	}
	step(samples[len(samples)-1].Snapshot) // warm-up
	for i := range samples {               // in one go, as in service: scoring in between would evict the caches
		began := cpuTime()
		step(samples[i].Snapshot)
		l.cpuMillis = append(l.cpuMillis, float64(cpuTime()-began)/1e6)
	}
	for i := range samples {
		r := bench.Score(samples[i].Truth, step(samples[i].Snapshot))
		l.add(r)
		if o.verbose {
			printSample(w, o.seed+int64(i), r)
		}
	}
	slices.Sort(l.cpuMillis)
	return l, nil
}

// isThreshold reports whether a method is the baseline, a threshold.
func isThreshold(method string) bool { return method == "threshold" || method == "directed" }

// stepper returns a step function: a segmenter followed by a tracker, with its own clock.
func stepper(g *topology.Graph, method string) (func(*schema.Snapshot) []schema.Region, error) {
	cfg := segment.DefaultConfig()
	switch method {
	case "statistical":
	case "paper":
		cfg.Method = segment.Paper
	case "overlap":
		cfg.Overlap = true
	default:
		return nil, fmt.Errorf("method %q: want oracle, paper, statistical, overlap, threshold or directed", method)
	}
	s, err := segment.New(g, cfg)
	if err != nil {
		return nil, err
	}
	tracker, err := tracking.New(g, tracking.DefaultConfig())
	if err != nil {
		return nil, err
	}
	interval := schema.Interval{DurationNanos: int64(time.Minute)}
	return func(snap *schema.Snapshot) []schema.Region {
		regions := s.Step(snap)
		tracker.Step(interval, regions)
		interval = interval.Next()
		return regions
	}, nil
}

func (l *line) add(r bench.Result) {
	l.score, l.precision, l.recall = append(l.score, r.Score), append(l.precision, r.Precision), append(l.recall, r.Recall)
	l.found += r.Found
	l.leaked += r.Leaked
	l.links += r.FoundLinks
	l.outsideLinks += r.BackgroundLinks
	l.roots += r.Roots
	l.rootsRight += r.RootsRight
}

func printSample(w io.Writer, seed int64, r bench.Result) {
	fmt.Fprintf(w, "  seed %d: %d true, %d found, %d leaked, score %.3f\n", seed, r.True, r.Found, r.Leaked, r.Score)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
