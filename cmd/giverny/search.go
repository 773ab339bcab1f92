package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/listing"
	"github.com/giverny/giverny/search/run"
)

func newSearch(g *globals) *cobra.Command {
	cmd := newFolder("search", "Find workloads that trigger anomalies of a NIC, and which of their features matter")
	cmd.AddCommand(newSearchRun(), newSearchCheck(), newSearchExplain(), newSearchReport(g),
		newSearchLaunch(g), newSearchList(g), newSearchCancel(g))
	return cmd
}

// searchFlags are the flags of a search that measures.
type searchFlags struct {
	engineFlags
	algorithm               string
	budget                  int
	seed                    uint64
	restrict, known, logged string
	json                    bool
}

func (f *searchFlags) add(cmd *cobra.Command) {
	f.engineFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.algorithm, "algorithm", string(search.Lift), "lift: draws values that went with high counters or lost throughput more often; collie: simulated annealing as published; collie-extreme: the same, mostly with extreme values; random: draws every workload with equal chance, and takes anomalies apart like lift")
	flags.IntVar(&f.budget, "budget", 1800, "number of experiments; probes for minimal feature sets (MFS) and failed experiments included")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random choices")
	flags.StringVar(&f.restrict, "restrict", "", "YAML: the values of the workload's dimensions to search within")
	flags.StringVar(&f.known, "known", "", "known anomalies with their minimal feature sets (MFS), as JSON lines or a report of an earlier search; they are not searched again")
	flags.StringVar(&f.logged, "log", "", "log of all measurements; if it exists, the search continues from it")
	flags.BoolVar(&f.json, "json", false, "one JSON object per line for each finding, and a summary")
}

// options reads the files named by the flags.
func (f *searchFlags) options() (o run.Options, err error) {
	o.Search = search.Config{Algorithm: search.Algorithm(f.algorithm), Budget: f.budget, Seed: f.seed}
	o.Log = f.logged
	if f.restrict != "" {
		if o.Restrict, _, err = readRestriction(f.restrict); err != nil {
			return o, err
		}
	}
	if f.known != "" {
		if o.Known, err = plainfile.ReadOnce(f.known); err != nil {
			return o, err
		}
		o.KnownName = f.known
	}
	return o, nil
}

// readRestriction reads a restriction of a space, and its text. A file that restricts nothing is an error: it was meant to.
func readRestriction(path string) (search.Restriction, []byte, error) {
	text, err := plainfile.ReadOnce(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := search.ParseRestriction(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r) == 0 {
		return nil, nil, fmt.Errorf("%s: no restriction in it: want dimensions with their allowed values, such as qps: {max: 64}", path)
	}
	return r, text, nil
}

func newSearchRun() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Search an RDMA subsystem for anomalies",
		Long: `Search an RDMA subsystem for workloads that make its NIC pause the network, or
that lose throughput though nothing is congested (Collie, NSDI'22), and find of each
anomaly which features of the workload are necessary: its minimal feature set (MFS).

An engine measures: simulated, the subsystems F and H of the paper; exec, a program
that speaks the engine protocol (docs/reference/search-protocol.md); perftest and
collie-engine, on two hosts that --rig names. An engine that sends an invalid
answer, no answer in time or two answers, or that exits, is restarted; the experiment
counts as failed.

With --json, standard output has one JSON object per line: an anomaly when it is
found, what is revised or withdrawn later, and a summary in the end; with --restrict an
anomaly's within is the part of the space that was searched, in the form of its mfs.
Without --json there is a sentence for each, and a table. Progress goes to standard
error. With --log a search that was stopped continues with the next experiment and has
the same result as one that was not; its findings so far are printed again.

The exit status is 0 when the budget is spent, whatever was found, 1 for bad input,
2 where the engine failed for good or no experiment succeeded, and 130 after Ctrl-C.`,
		Example: `  giverny search run --engine simulated --subsystem F --budget 1200
  giverny search run --engine exec --command './rig.py --nic mlx5_0' --log nic.log --json
  giverny search run --engine perftest --rig rig.yaml --pairs 2 --restrict app.yaml --log nic.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSearch(cmd, &f, false) },
	}
	f.add(cmd)
	return cmd
}

func newSearchCheck() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask whether the workloads of an application trigger anomalies, before it runs",
		Long: `Find out whether the workloads of an application trigger anomalies. --restrict names
the workloads that the application can have. Known anomalies (--known) that such
workloads can trigger are printed; the other workloads are searched. With --budget 0
nothing is measured.

A restriction names dimensions of the engine, each with a value, a list of values, or
a mapping with in, except, min, max or max_length. Sizes may have units (4KB and 4KiB
are 4096):

  transport: [RC_WRITE, RC_READ]
  qps: {max: 64}
  sizes: {max: 4KB, max_length: 1}

With --json the known ones are lines {"type":"known","mfs":{…}}, before those of
giverny search run.`,
		Example: `  giverny search check --engine simulated --subsystem F --restrict app.yaml --known found.jsonl --budget 300`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.restrict == "" {
				return errors.New("--restrict is missing: name a YAML file with what the application uses")
			}
			return runSearch(cmd, &f, true)
		},
	}
	f.add(cmd)
	return cmd
}

// runSearch searches and prints the findings. With check it first prints what is
// already known about the space.
func runSearch(cmd *cobra.Command, f *searchFlags, check bool) (err error) {
	ctx := cmd.Context()
	reading := endAtOnce(cmd)
	o, err := f.options()
	reading()
	if err != nil {
		return err
	}
	log := newLog(cmd, config.Default().Log)
	if o.Engines, err = f.open(log); err != nil {
		return err
	}
	defer func() {
		for _, e := range o.Engines {
			err = errors.Join(err, e.Close())
		}
	}()
	space, err := spaceOf(ctx, o)
	if err != nil {
		return err
	}
	if f.name == engineSimulated && o.Search.Budget > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "giverny search: subsystem %s is simulated, no NIC is measured; --engine exec or perftest measures one\n", f.subsystem)
	}
	out := listing.New(cmd.OutOrStdout(), f.json)
	if check {
		known, err := space.ParseKnown(o.Known)
		if err != nil {
			return fmt.Errorf("%s: %w", f.known, err)
		}
		if err := out.Known(known); err != nil || o.Search.Budget == 0 {
			return err
		}
	}
	progress := listing.NewProgress(cmd.ErrOrStderr())
	o.Logger, o.OnFinding, o.OnProgress = log, out.Finding, progress.Show
	summary, err := run.Run(ctx, o)
	progress.End()
	if summary.Type != "" {
		err = errors.Join(err, out.Summary(summary))
	}
	if err == nil && summary.Interrupted {
		err = &interrupted{summary.Experiments, o.Search.Budget, o.Log}
	}
	return err
}

// spaceOf returns the search space.
func spaceOf(ctx context.Context, o run.Options) (*search.Space, error) {
	d, err := run.Describe(ctx, o.Engines)
	if err != nil {
		return nil, err
	}
	return run.Space(d, o.Restrict)
}

// interrupted is the error of a search ended by a signal.
type interrupted struct {
	experiments, budget int
	log                 string
}

func (i *interrupted) Error() string {
	text := fmt.Sprintf("interrupted after %d of %d experiments", i.experiments, i.budget)
	if i.log == "" {
		return text + "; a search with --log can be resumed"
	}
	return text + "; the same command resumes it"
}

// ExitStatus is the one of shells for an interrupted process.
func (i *interrupted) ExitStatus() int { return statusInterrupted }
