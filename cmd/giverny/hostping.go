package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/draw"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/internal/atomicfile"
)

func newHostping(g *globals) *cobra.Command {
	cmd := newFolder("hostping", "Find bottlenecks inside a host by loopback probes of its RNICs")
	cmd.AddCommand(newHostpingGraph(), newHostpingBaseline(), newHostpingRun(), newHostpingLaunch(g), newHostpingFleet(g))
	return cmd
}

type hostGraphFlags struct {
	format, out string
	json        bool
}

func newHostpingGraph() *cobra.Command {
	var f hostGraphFlags
	cmd := &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw the links between a host's RNICs, GPUs and memory nodes",
		Long: `Read a host's description and list its links: their ids, the path of each RNIC to
each GPU and memory node, and the affinitive endpoints of each RNIC. Assumptions
about what the file does not contain are listed. Links in series that no probe can
distinguish are one link.

FILE is the output of lstopo --of xml, NCCL (NCCL_TOPO_DUMP_FILE) or nvidia-smi
topo -m.`,
		Example: `  lstopo --of xml host.xml
  giverny hostping graph host.xml --out host.svg
  giverny hostping graph host.xml --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			g, err := readHost(args[0], f.format)
			if err != nil {
				return err
			}
			if f.out != "" {
				if err := atomicfile.WriteOutput(f.out, []byte(draw.SVG(&g, nil))); err != nil {
					return err
				}
			}
			if f.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(g)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), draw.Text(&g))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "hwloc, nccl or nvidia-smi; empty: detected from the text")
	flags.StringVarP(&f.out, "out", "o", "", "also draw the graph to this SVG file")
	flags.BoolVar(&f.json, "json", false, "print the graph as JSON")
	return cmd
}

// maxHostFile bounds the size of a host description, in bytes.
const maxHostFile = 32 << 20

// readHost reads a host's description.
func readHost(path, format string) (hostping.Graph, error) {
	file, err := os.Open(path)
	if err != nil {
		return hostping.Graph{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxHostFile))
	if err != nil {
		return hostping.Graph{}, err
	}
	return hostping.ReadGraph(path, text, hostping.Format(format))
}

type hostBaselineFlags struct {
	proberFlags
	out  string
	runs int
	json bool
}

func newHostpingBaseline() *cobra.Command {
	var f hostBaselineFlags
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Measure what idle, healthy hosts of a model reach",
		Long: `Measure every pair of RNIC and endpoint of an idle, healthy host, and write the
latencies and bandwidths to a file. If the file exists, the measurements are merged
into it: run the command on several hosts of the model, so that a bad host has no
effect on the baseline.`,
		Example: `  giverny hostping baseline --host host.xml --prober perftest --out dgx.json
  giverny hostping baseline --host host.xml --prober exec --command 'my-prober --quiet' --out dgx.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return takeBaseline(cmd, &f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file of the baseline; an existing one is merged")
	flags.IntVar(&f.runs, "runs", 1, "number of times to measure all pairs")
	flags.BoolVar(&f.json, "json", false, "print a summary as JSON")
	return cmd
}

func takeBaseline(cmd *cobra.Command, f *hostBaselineFlags) error {
	switch {
	case f.out == "":
		return errors.New("--out is missing: name the file to write the baseline to")
	case f.runs < 1:
		return fmt.Errorf("--runs %d: want 1 or more", f.runs)
	}
	g, err := readHost(f.host, f.format)
	if err != nil {
		return err
	}
	var merged *hostping.Baseline
	if have, err := readBaseline(f.out); err == nil {
		merged = &have
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	prober, err := f.open(&g, cmd)
	if err != nil {
		return err
	}
	defer prober.Close()
	var missing []hostping.Unmeasured
	for range f.runs {
		b, gaps, err := run.TakeBaseline(cmd.Context(), run.Options{Graph: g, Prober: prober, LargeBytes: f.largeBytes, ProbeTimeout: f.timeout, Timeout: f.runTimeout})
		if err != nil {
			return probing(err)
		}
		missing = gaps
		if merged != nil {
			if b, err = merged.Merge(&b); err != nil {
				return fmt.Errorf("%s: %w", f.out, err)
			}
		}
		merged = &b
	}
	return writeBaseline(cmd, f, merged, missing)
}

// writeBaseline writes the file and prints its contents.
func writeBaseline(cmd *cobra.Command, f *hostBaselineFlags, b *hostping.Baseline, missing []hostping.Unmeasured) error {
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteOutput(f.out, append(text, '\n')); err != nil {
		return err
	}
	for _, m := range missing {
		fmt.Fprintf(cmd.ErrOrStderr(), "giverny hostping: %s to %s: not measured: %s\n", m.RNIC, m.Endpoint, m.Reason)
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Model      string `json:"model"`
			Runs       int    `json:"runs"`
			Pairs      int    `json:"pairs"`
			Unmeasured int    `json:"unmeasured"`
		}{b.Model, b.Runs, len(b.Pairs), len(missing)})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d pairs of %s, runs: %d\n", f.out, len(b.Pairs), b.Model, b.Runs)
	return err
}

// readBaseline reads a baseline's file.
func readBaseline(path string) (hostping.Baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return hostping.Baseline{}, err
	}
	b, err := hostping.ParseBaseline(text)
	if err != nil {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

type hostRunFlags struct {
	proberFlags
	baseline, history, trigger, out string
	json                            bool
}

func newHostpingRun() *cobra.Command {
	var f hostRunFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Probe a host and name its bottlenecks",
		Long: `Probe a host and report its bottlenecks, each with its link and the evidence. On an
idle host all pairs of RNICs and endpoints are probed, on a busy one each RNIC only
with its affinitive endpoints. Endpoints are GPUs and memory nodes (NUMA); affinitive
to an RNIC are the GPUs below the same root port, and all memory that reaches its line
rate in the baseline.

With --history the run is added to the host's earlier runs in that folder, so that
flapping links are found.

--prober exec starts a program that answers probes on standard input and output,
line by line. --prober simulated simulates the host, with the faults of --fault.
The exit status is 2 if the prober could not measure any pair.`,
		Example: `  giverny hostping run --host host.xml --baseline dgx.json --prober perftest
  giverny hostping run --host host.xml --baseline dgx.json --prober simulated --fault memory_channel_failure,memory:numa1,0.6 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHostping(cmd, &f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.baseline, "baseline", "", "file written by giverny hostping baseline")
	flags.StringVar(&f.history, "history", "", "folder of this host's earlier runs; created if missing")
	flags.StringVar(&f.trigger, "trigger", "", "RNIC that pauses its network or drops packets: only affinitive pairs are probed, and if no link is abnormal, the RNIC's own link is the bottleneck")
	flags.StringVarP(&f.out, "out", "o", "", "draw the host to this SVG file, with accused links in red")
	flags.BoolVar(&f.json, "json", false, "print the report as JSON")
	return cmd
}

// historyFile is the file name in the folder of --history.
const historyFile = "history.json"

func runHostping(cmd *cobra.Command, f *hostRunFlags) error {
	if f.baseline == "" {
		return errors.New("--baseline is missing: name a file written by giverny hostping baseline")
	}
	g, err := readHost(f.host, f.format)
	if err != nil {
		return err
	}
	b, err := readBaseline(f.baseline)
	if err != nil {
		return err
	}
	if err := b.Fits(&g); err != nil {
		return fmt.Errorf("%s: %w", f.baseline, err)
	}
	if f.trigger != "" && !slices.ContainsFunc(g.RNICs, func(r hostping.RNIC) bool { return r.ID == f.trigger }) {
		return fmt.Errorf("--trigger %q: %s has no such RNIC", f.trigger, f.host)
	}
	history, err := readHistory(f.history)
	if err != nil {
		return err
	}
	prober, err := f.open(&g, cmd)
	if err != nil {
		return err
	}
	defer prober.Close()
	report, err := run.Run(cmd.Context(), run.Options{Graph: g, Baseline: b, History: history, Prober: prober, Now: time.Now, Trigger: f.trigger, ProbeTimeout: f.timeout, Timeout: f.runTimeout})
	if err != nil {
		return probing(err)
	}
	if err := writeHistory(f.history, history); err != nil {
		return err
	}
	if f.out != "" {
		if err := atomicfile.WriteOutput(f.out, []byte(draw.SVG(&g, accused(&report)))); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	}
	return printReport(cmd.OutOrStdout(), &g, &report)
}

func accused(r *hostping.Report) (links []string) {
	for i := range r.Verdicts {
		links = append(links, r.Verdicts[i].Link)
	}
	return links
}

// readHistory returns nil without a folder, and an empty history if there is no file yet.
func readHistory(folder string) (*hostping.History, error) {
	if folder == "" {
		return nil, nil
	}
	path := filepath.Join(folder, historyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &hostping.History{Version: hostping.HistoryVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := hostping.ParseHistory(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &h, nil
}

func writeHistory(folder string, h *hostping.History) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, historyFile), append(text, '\n'))
}

// probing adds the exit status to an error of the prober or an interruption.
func probing(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &hostpingError{err, 130}
	case errors.Is(err, run.ErrProber):
		return &hostpingError{err, 2}
	}
	return err
}

// hostpingError is an error with its own exit status.
type hostpingError struct {
	error
	status int
}

// ExitStatus returns the exit status of the process.
func (e *hostpingError) ExitStatus() int { return e.status }

// Unwrap returns the underlying error.
func (e *hostpingError) Unwrap() error { return e.error }
