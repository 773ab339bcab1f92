package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/store/read"
)

type hostFleetFlags struct {
	fabric, model, host, out string
	since                    time.Duration
	percent                  float64
	all, baselines, json     bool
}

func newHostpingFleet(g *globals) *cobra.Command {
	var f hostFleetFlags
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "List the hosts of a fabric that have a bottleneck inside, or differ from their model",
		Long: `List probed hosts from the store: those with a verdict in their newest run, and the
pairs (an RNIC, an endpoint) of a host that differ from the median of the hosts of
its model by more than --percent, in a run while the host was idle. Models with fewer
than three hosts are left out.

--host lists the runs of one host, --baselines the models that have a baseline; with
--model and --out that baseline is written to a file, merged over its hosts.`,
		Example: `  giverny hostping fleet
  giverny hostping fleet --model 'DGX #4f1c' --percent 10 --json
  giverny hostping fleet --host gpu-17
  giverny hostping fleet --baselines --model 'DGX #4f1c' --out dgx.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return app.New(cfg, version, log).Reading(cmd.Context(), f.fabric, func(ctx context.Context, m *read.Model, fabric string) error {
				return f.list(ctx, cmd.OutOrStdout(), m, fabric)
			})
		},
	}
	flags := cmd.Flags()
	fabricFlag(flags, &f.fabric)
	flags.StringVar(&f.model, "model", "", "only hosts of this model")
	flags.StringVar(&f.host, "host", "", "the runs of this host")
	flags.DurationVar(&f.since, "since", 7*24*time.Hour, "runs within this time")
	flags.Float64Var(&f.percent, "percent", 20, "minimum difference of a pair from the median of its model")
	flags.BoolVar(&f.all, "all", false, "also list hosts without a verdict")
	flags.BoolVar(&f.baselines, "baselines", false, "the models that have a baseline")
	flags.StringVarP(&f.out, "out", "o", "", "with --baselines and --model: write the baseline to this file")
	flags.BoolVar(&f.json, "json", false, "one JSON object per line")
	return cmd
}

func (f *hostFleetFlags) check() error {
	switch {
	case f.percent <= 0 || f.percent > 100:
		return fmt.Errorf("--percent %g: want above 0, up to 100", f.percent)
	case f.since <= 0:
		return fmt.Errorf("--since %v: want a positive duration", f.since)
	case f.out != "" && (!f.baselines || f.model == ""):
		return fmt.Errorf("--out %s: give --baselines and --model too", f.out)
	case f.host != "" && (f.baselines || f.model != ""):
		return fmt.Errorf("--host %s: --baselines and --model are for all hosts", f.host)
	}
	return nil
}

func (f *hostFleetFlags) list(ctx context.Context, w io.Writer, m *read.Model, fabric string) error {
	span := read.Past(time.Now(), f.since)
	switch {
	case f.baselines:
		return f.listBaselines(ctx, w, m, fabric)
	case f.host != "":
		runs, err := m.HostRuns(ctx, fabric, span, read.HostRunFilter{Agent: f.host}, read.MaxHosts)
		if err != nil {
			return err
		}
		return f.printRuns(w, runs)
	}
	hosts, err := m.HostStates(ctx, fabric, span, f.model, read.MaxHosts)
	if err != nil {
		return err
	}
	outliers, err := m.HostOutliers(ctx, fabric, span, f.model, f.percent, read.MaxHosts)
	if err != nil {
		return err
	}
	probed := len(hosts)
	if !f.all {
		hosts = slices.DeleteFunc(hosts, func(r read.HostRun) bool { return len(r.Verdicts) == 0 })
	}
	if f.json {
		return f.printFleetJSON(w, hosts, outliers)
	}
	fmt.Fprintf(w, "%s probed, %d of these with a verdict; pairs that differ from their model: %d\n", plural.Count(probed, "host", "hosts"), countVerdicts(hosts), len(outliers))
	if err := f.printRuns(w, hosts); err != nil {
		return err
	}
	return printOutliers(w, outliers)
}

func countVerdicts(hosts []read.HostRun) (n int) {
	for i := range hosts {
		if len(hosts[i].Verdicts) > 0 {
			n++
		}
	}
	return n
}

// fleetLine is a line of the fleet command's JSON.
type fleetLine struct {
	Type    string            `json:"type"` // host, outlier
	Host    *read.HostRun     `json:"host,omitempty"`
	Outlier *read.HostOutlier `json:"outlier,omitempty"`
}

func (f *hostFleetFlags) printFleetJSON(w io.Writer, hosts []read.HostRun, outliers []read.HostOutlier) error {
	enc := json.NewEncoder(w)
	for i := range hosts {
		if err := enc.Encode(fleetLine{Type: "host", Host: &hosts[i]}); err != nil {
			return err
		}
	}
	for i := range outliers {
		if err := enc.Encode(fleetLine{Type: "outlier", Outlier: &outliers[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (f *hostFleetFlags) printRuns(w io.Writer, runs []read.HostRun) error {
	if f.json {
		return printLines(w, runs)
	}
	if len(runs) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tTIME (UTC)\tBY\tSTATE\tPROBES\tRUN\tOUTCOME")
	for i := range runs {
		r := &runs[i]
		by := cmp.Or(r.Principal, string(r.Trigger))
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", cmp.Or(r.Agent, "no answer"), r.Time.Time().Format(time.DateTime), by,
			cmp.Or(string(r.State), string(r.Status)), r.Probes, r.RunID, cmp.Or(r.Sentence, r.Reason, string(r.Mode)))
	}
	return table.Flush()
}

func printOutliers(w io.Writer, list []read.HostOutlier) error {
	if len(list) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nHOST\tPAIR\tGBIT/S\tMEDIAN\tLATENCY US\tMEDIAN\tMODEL\tHOSTS")
	for i := range list {
		o := &list[i]
		fmt.Fprintf(table, "%s\t%s to %s\t%.1f\t%.1f\t%.2f\t%.2f\t%s\t%d\n", o.Agent, o.RNIC, o.Endpoint, o.Gbps, o.FleetGbps, o.LatencyMicros, o.FleetLatencyMicros, o.Model, o.Hosts)
	}
	return table.Flush()
}

func (f *hostFleetFlags) listBaselines(ctx context.Context, w io.Writer, m *read.Model, fabric string) error {
	list, err := m.HostBaselines(ctx, fabric, f.model)
	if err != nil {
		return err
	}
	if f.out != "" {
		if len(list) == 0 {
			return fmt.Errorf("no baseline of model %q is stored; giverny hostping launch --host HOST --baseline takes one", f.model)
		}
		return writeIndented(f.out, &list[0].Baseline)
	}
	if f.json {
		return printLines(w, list)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MODEL\tHOSTS\tRUNS\tPAIRS\tNEWEST (UTC)")
	for i := range list {
		b := &list[i]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", b.Model, len(b.Agents), b.Baseline.Runs, len(b.Baseline.Pairs), b.Newest.Time().Format(time.DateTime))
	}
	return table.Flush()
}
