package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/schema"
)

// earliestClock is the earliest plausible time in a record: clocks of simulations start
// at 0, and those of hosts that were never set in 1970.
var earliestClock = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)

// publishWait is how long to wait for Kafka to accept a report.
const publishWait = 30 * time.Second

type collectivePublishFlags struct {
	fabric, job, format, lineRate, begin, nodeMap string
	dryRun                                        bool
}

func newCollectivePublish(g *globals) *cobra.Command {
	var f collectivePublishFlags
	cmd := &cobra.Command{
		Use:   "publish --job ID --format FORMAT DIR|FILE...",
		Short: "Diagnose a job's collectives and store the result",
		Long: `Diagnose the collectives of a job, as giverny collective diagnose does, and send the
result over Kafka to the analyser of the fabric, which stores it. The API and the
page then show the critical path, the culprits, a timeline of ranks by steps, and
the congestion regions that the flows crossed, with the cost of each region. The
paths of the flows are taken from the records. Without them, the routes of the
fabric between the hosts of the ranks are used.

Run it in a job's epilogue, or by hand for a slow job. Publishing the same job with
the same begin again replaces the stored result.

Hosts of ranks must be named like devices in the fabric's topology, as nodes of jobs
must; --node-map maps hosts with other names to devices. Records without a UTC start
time, such as those of a simulation, need --begin.`,
		Example: `  giverny collective publish --job 17 --format simulated --begin 2026-11-22T10:00:00Z run
  giverny collective publish --job 17 --format nccl-inspector /var/log/nccl/17 --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.publish(cmd, g, args) },
	}
	flags := cmd.Flags()
	fabricFlag(flags, &f.fabric)
	flags.StringVar(&f.job, "job", "", "id of the job in the scheduler")
	flags.StringVar(&f.format, "format", "", "format of the records: "+records.Names()+"; empty: detected")
	flags.StringVar(&f.lineRate, "line-rate", "", "nominal rate of a link, such as 25Gbps (default: the most frequent rate at its level of the fabric)")
	flags.StringVar(&f.begin, "begin", "", "time of the first step, RFC 3339 (default: by the clock of the records)")
	flags.StringVar(&f.nodeMap, "node-map", "", "file of lines \"host<TAB>device\"")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the message instead of sending it")
	return cmd
}

func (f *collectivePublishFlags) publish(cmd *cobra.Command, g *globals, paths []string) error {
	if f.job == "" {
		return errors.New("--job is missing: give the id of the job in the scheduler")
	}
	format, err := collectiveFormat(f.format, paths)
	if err != nil {
		return err
	}
	opt := collective.Options{}
	if opt.LineRateBitsPerSecond, err = parseLineRate(f.lineRate); err != nil {
		return err
	}
	cfg, log, err := g.load(cmd)
	if err != nil {
		return err
	}
	run, d, err := diagnoseRecords(cmd.Context(), &format, paths, opt)
	if err != nil {
		return err
	}
	f.format = format.Name // which may have been detected
	p := app.New(cfg, version, quiet(log))
	r, err := f.report(p, run, d)
	if err != nil {
		return err
	}
	if f.dryRun {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishWait)
	defer cancel()
	id, err := p.PublishCollective(ctx, f.fabric, &r)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%ssent as %s\n", wholeLines(&d), id)
	return nil
}

// report creates the report to send.
func (f *collectivePublishFlags) report(p *app.Process, run collective.Run, d collective.Diagnosis) (report.Report, error) {
	m := report.Meta{Job: f.job, Format: f.format}
	hosts := make([]string, len(run.Ranks))
	for i, r := range run.Ranks {
		hosts[i] = r.Node
	}
	var err error
	if m.Devices, err = p.CollectiveDevices(f.fabric, f.nodeMap, hosts); err != nil {
		return report.Report{}, err
	}
	switch {
	case f.begin != "":
		at, err := time.Parse(time.RFC3339Nano, f.begin)
		if err != nil || !at.After(earliestClock) {
			return report.Report{}, fmt.Errorf("--begin %q: want a time such as 2026-11-22T10:00:00Z", f.begin)
		}
		m.Begin = schema.InstantOf(at)
	case d.FirstNanos < earliestClock.UnixNano():
		return report.Report{}, errors.New("the records have no UTC start time: give that of the first step with --begin, such as 2026-11-22T10:00:00Z")
	}
	return report.New(run, d, m)
}
