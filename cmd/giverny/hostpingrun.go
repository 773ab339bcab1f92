package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/draw"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/internal/atomicfile"
)

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

func runHostping(cmd *cobra.Command, f *hostRunFlags) error {
	if f.baseline == "" {
		return errors.New("--baseline is missing: name a file written by giverny hostping baseline")
	}
	g, err := f.graph()
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
	var history *hostping.History
	if f.history != "" {
		known, err := local.ReadHistory(f.history)
		if err != nil {
			return err
		}
		history = &known
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
	if history != nil {
		if err := local.WriteHistory(f.history, history); err != nil {
			return err
		}
	}
	if f.out != "" {
		if err := atomicfile.WriteOutput(f.out, []byte(draw.SVG(&g, accused(&report)))); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), draw.Report(&g, &report))
	return err
}

func accused(r *hostping.Report) (links []string) {
	for i := range r.Verdicts {
		links = append(links, r.Verdicts[i].Link)
	}
	return links
}
