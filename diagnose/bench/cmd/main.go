// Command cmd measures the accuracy of the diagnoser on incidents with known causes:
//
//	go run ./diagnose/bench/cmd                    every set, every kind
//	go run ./diagnose/bench/cmd -world credits     of the other simulator, with credits and truth by replay
//	go run ./diagnose/bench/cmd -v -kinds incast   and every wrong verdict
//	go run ./diagnose/bench/cmd -seed 0            the seeds that constants are fitted on
//	go run ./diagnose/bench/cmd -nolog -kinds link_fails,flaps   without a failure log
//	go run ./diagnose/bench/cmd -diagram FILE.svg  and draw the reliability diagram
//	go run ./diagnose/bench/cmd -steady            instead, how steadily regions are tracked, also of the set faint and the kind two_incasts
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/diagnose/bench/replay"
	"github.com/giverny/giverny/internal/table"
	"github.com/giverny/giverny/schema"
)

// firstTestSeed separates test incidents from those that constants were fitted on, which have smaller seeds.
const firstTestSeed = 1_000_000

// worlds are the simulators, by the value of the flag.
var worlds = map[string]func() bench.World{"fluid": bench.Fluid, "credits": replay.World}

type options struct {
	world    string
	samples  int
	seed     int64
	sets     []string
	kinds    []string
	verbose  bool
	noLog    bool
	steady   bool
	markdown bool
	diagram  string
}

func main() {
	var o options
	flag.StringVar(&o.world, "world", "fluid", "simulator: fluid or credits")
	flag.IntVar(&o.samples, "samples", 10, "incidents of each kind in each set")
	flag.Int64Var(&o.seed, "seed", firstTestSeed, "first seed")
	sets := flag.String("sets", "", "sets, by name; all if empty")
	kinds := flag.String("kinds", "", "kinds of incidents, by name; all if empty")
	flag.BoolVar(&o.verbose, "v", false, "a line per incident, and per wrong verdict")
	flag.BoolVar(&o.noLog, "nolog", false, "show the diagnoser no log of failures")
	flag.BoolVar(&o.steady, "steady", false, "score how steadily regions and verdicts are followed")
	flag.BoolVar(&o.markdown, "markdown", false, "write a Markdown table")
	flag.StringVar(&o.diagram, "diagram", "", "file for the reliability diagram, SVG")
	flag.Parse()
	o.sets, o.kinds = list(*sets), list(*kinds)
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// chosen reports whether a name is selected.
func chosen(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }

// part is the incidents of a kind in a set.
type part struct {
	set     string
	kind    bench.Kind
	score   *bench.Score
	steady  bench.Steadiness
	details bytes.Buffer
}

func (o *options) run(w io.Writer) error {
	makeWorld, ok := worlds[o.world]
	if !ok || o.steady && o.world != "fluid" {
		return fmt.Errorf("world %q: want fluid or credits, with -steady fluid", o.world)
	}
	world := makeWorld()
	parts := o.parts(world)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range parts {
		group.Go(func() (err error) {
			if o.steady {
				return o.follow(p)
			}
			p.score, err = o.score(&p.details, world, p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if o.steady {
		o.printSteadiness(w, parts)
		return nil
	}
	all := o.print(w, parts)
	if o.diagram == "" {
		return nil
	}
	var svg bytes.Buffer
	bench.Diagram(&svg, all)
	return os.WriteFile(o.diagram, svg.Bytes(), 0o644)
}

// parts are the chosen kinds of the chosen sets.
func (o *options) parts(world bench.World) (parts []*part) {
	sets, kinds := world.Sets, world.Kinds
	if o.steady {
		sets, kinds = append(sets, bench.Faint().Name), append(kinds, bench.TwoIncasts)
	}
	for _, set := range sets {
		for _, kind := range kinds {
			if chosen(o.sets, set) && chosen(o.kinds, string(kind)) {
				parts = append(parts, &part{set: set, kind: kind})
			}
		}
	}
	return parts
}

// print writes a row per set and per kind, and returns the sum.
func (o *options) print(w io.Writer, parts []*part) *bench.Score {
	var all bench.Score
	var names []string
	byName := map[string]*bench.Score{}
	add := func(name string, s *bench.Score) {
		if byName[name] == nil {
			byName[name] = &bench.Score{}
			names = append(names, name)
		}
		byName[name].Merge(s)
	}
	for _, p := range parts {
		_, _ = p.details.WriteTo(w)
		add(p.set, p.score)
		all.Merge(p.score)
	}
	for _, p := range parts {
		add(string(p.kind), p.score)
	}
	t := table.Table{W: w, Markdown: o.markdown, Columns: columns}
	t.Head()
	for _, name := range names {
		row(&t, name, byName[name])
	}
	row(&t, "all", &all)
	return &all
}

// score plays the incidents of a kind.
func (o *options) score(w io.Writer, world bench.World, p *part) (*bench.Score, error) {
	var s bench.Score
	for seed := o.seed; seed < o.seed+int64(o.samples); seed++ {
		in, err := world.Incident(p.set, p.kind, seed)
		if err != nil {
			return nil, err
		}
		stage, err := diagnose.New(in.Graph(), diagnose.DefaultConfig())
		if err != nil {
			return nil, err
		}
		var judge bench.Judge = stage
		if o.noLog {
			judge = withoutLog{stage}
		}
		verdicts, err := in.Play(judge)
		if err != nil {
			return nil, err
		}
		s.Add(verdicts)
		if o.verbose {
			tell(w, in, verdicts)
		}
	}
	return &s, nil
}

// withoutLog hides the failures from a judge.
type withoutLog struct{ bench.Judge }

func (w withoutLog) Step(r *schema.IntervalResult) {
	r.Failures = nil
	w.Judge.Step(r)
}

// tell writes a line per incident and one per wrong verdict.
func tell(w io.Writer, in bench.Played, verdicts []bench.Verdict) {
	var s bench.Score
	s.Add(verdicts)
	fmt.Fprintf(w, "# %v: %d verdicts, class %.2f job %.2f root %.2f false blame %.2f\n", in, s.Verdicts, s.Class.Part(), s.Job.Part(), s.Root.Part(), s.FalseBlame.Part())
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Truth.Scored {
			continue
		}
		var wrong []string
		if !v.ClassRight() {
			wrong = append(wrong, "class")
		}
		switch {
		case len(v.Truth.Jobs) > 0 && !v.JobRight():
			wrong = append(wrong, "job")
		case len(v.Truth.Jobs) == 0 && len(v.Got.Jobs) > 0:
			wrong = append(wrong, "blame")
		}
		if len(v.Truth.Roots) > 0 && !v.RootRight() {
			wrong = append(wrong, "root")
		}
		if len(wrong) == 0 {
			continue
		}
		accused, root := "", "none"
		for _, j := range v.Got.Jobs {
			accused += " " + j.JobID
		}
		if r := v.Got.Root; r != nil {
			root = fmt.Sprintf("%s %s->%s %s", r.Device, r.Port, r.Peer, r.Kind)
		}
		fmt.Fprintf(w, "  %v after, %s %v %d links %.0f%%: wrong %v; truth %v jobs %v roots %v %s (%.2f); got %s %.2f jobs%s root %s\n", v.After(), v.Region.Metric, v.Region.Severity,
			v.Region.Size, v.Region.Mean, wrong, v.Truth.Classes, v.Truth.Jobs, v.Truth.Roots, v.Truth.Object, v.Truth.Share, v.Got.Cause.Class, v.Got.Cause.Confidence, accused, root)
	}
}
