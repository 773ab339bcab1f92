// Command cmd prints how often the diagnosis of collectives is right on simulated
// incidents with known causes, and the telemetry bytes that detection costs:
//
//	go run ./collective/bench/cmd                  200 incidents of all classes
//	go run ./collective/bench/cmd -v               one more line per wrong verdict
//	go run ./collective/bench/cmd -mode periodic   diagnosed from records of rigid polling
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/bench"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/simulate/incident"
)

// firstTestSeed separates the test incidents from those used to choose constants, which
// have smaller seeds.
const firstTestSeed = 1_000_000

type options struct {
	n       int
	seed    uint64
	chunk   int64
	ranks   int
	spines  int
	mode    string
	classes string
	verbose bool
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 200, "incidents")
	flag.Uint64Var(&o.seed, "seed", firstTestSeed, "first seed")
	flag.Int64Var(&o.chunk, "chunk", 1<<20, "bytes of a step")
	flag.IntVar(&o.ranks, "ranks", 8, "ranks: 4 to 256, two on each leaf")
	flag.IntVar(&o.spines, "spines", 4, "spines: 4 to 16")
	flag.StringVar(&o.mode, "mode", string(detect.StepAware), "detection whose records are diagnosed")
	flag.StringVar(&o.classes, "classes", "", "classes, by name; all if empty")
	flag.BoolVar(&o.verbose, "v", false, "a line per wrong verdict")
	flag.Parse()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// judged is an incident and its verdict.
type judged struct {
	c bench.Case
	d collective.Diagnosis
	v bench.Verdict
}

func (o *options) run(w io.Writer) error {
	modes := []detect.Mode{detect.Mode(o.mode)}
	for _, mode := range []detect.Mode{detect.StepAware, detect.Threshold, detect.Periodic} {
		if mode != modes[0] {
			modes = append(modes, mode)
		}
	}
	specs := bench.Specs(o.n, o.seed, o.chunk)
	for i := range specs {
		specs[i].Ranks, specs[i].Spines = o.ranks, o.spines
	}
	if o.classes != "" {
		wanted := strings.Split(o.classes, ",")
		specs = slices.DeleteFunc(specs, func(s incident.Spec) bool { return !slices.Contains(wanted, string(s.Class)) })
	}
	results := make([]judged, len(specs))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, spec := range specs {
		group.Go(func() error {
			c, err := bench.Play(spec, modes...)
			if err != nil {
				return fmt.Errorf("%+v: %w", spec, err)
			}
			d := collective.Diagnose(c.Run, collective.Options{})
			results[i] = judged{c, d, bench.Judge(&c.Truth, &d)}
			results[i].c.Run = collective.Run{}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	o.print(w, results)
	return nil
}

func (o *options) print(w io.Writer, results []judged) {
	var all bench.Score
	scores := map[collective.Class]*bench.Score{}
	for i := range results {
		r := &results[i]
		s := scores[r.c.Truth.Class]
		if s == nil {
			s = &bench.Score{}
			scores[r.c.Truth.Class] = s
		}
		s.Add(&r.c, r.v)
		if o.verbose && (!r.v.Class || !r.v.Culprit || r.v.False > 0) {
			explain(w, r)
		}
	}
	fmt.Fprintf(w, "%-20s %5s %7s %9s %12s %12s %11s %14s %14s %14s\n", "class", "cases", "class %", "culprit %", "false/named", "false cases", "cost error", "step-aware B", "threshold B", "periodic B")
	row := func(name string, s *bench.Score) {
		fmt.Fprintf(w, "%-20s %5d %7.1f %9.1f %11.1f%% %12d %10.1f%% %14d %14d %14d\n", name, s.Cases, s.Percent(s.Class), s.Percent(s.Culprit), s.FalsePercent(), s.FalseCases,
			100*s.CostError(), s.Bytes[detect.StepAware], s.Bytes[detect.Threshold], s.Bytes[detect.Periodic])
	}
	for _, class := range incident.Classes() {
		if s := scores[class]; s != nil {
			row(string(class), s)
			all.Merge(s)
		}
	}
	row("all", &all)
	fewer := func(than detect.Mode) float64 {
		return 100 * (1 - float64(all.Bytes[detect.StepAware])/float64(max(1, all.Bytes[than])))
	}
	fmt.Fprintf(w, "\nstep-aware detection collects %.1f%% fewer bytes than polling every flow at a fixed rate, %.1f%% fewer than Hawkeye's threshold; diagnosed from %s\n",
		fewer(detect.Periodic), fewer(detect.Threshold), o.mode)
}

func explain(w io.Writer, r *judged) {
	t := &r.c.Truth
	fmt.Fprintf(w, "%s %s seed %d: truth %v at %v, cost %.3f of %.3f ms\n", t.Class, t.Algorithm, t.Seed, t.Flows, t.Objects, float64(t.CostNanos)/1e6, float64(t.MakespanNanos)/1e6)
	for i, c := range r.d.Culprits {
		if i == 4 {
			fmt.Fprintf(w, "    and %d more\n", len(r.d.Culprits)-i)
			break
		}
		fmt.Fprintf(w, "    %s %s at %s, %.3f ms, confidence %.2f: %s\n", c.Class, c.Flow, c.Object, float64(c.CostNanos)/1e6, c.Confidence, c.Evidence)
	}
}
