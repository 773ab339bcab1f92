package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/offline"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/plural"
)

func newCounters() *cobra.Command {
	cfg := window.DefaultConfig()
	var topology string
	cmd := &cobra.Command{
		Use:   "counters --topology TOPOLOGY FILE...",
		Short: "Compute a links CSV from recorded counters, offline",
		Long: `Compute the stall of every link from recorded readings of counters, by the same code as
live: counters that wrap, saturate or are reset, missing and late readings. The links
CSV goes to standard output, for giverny segment and diagnose; a summary of what could
not be used goes to standard error.

A file has a JSON object per line, as giverny collect --once --json prints them, in
order of time: {"time":"2026-01-05T00:30:00Z","device":"leaf0","port":"Ethernet4",
"counters":{"sai.port_stat_pfc_3_rx_pause_duration_us":81250}}. Append the readings of
further times to the same file, or give a file for each host: they are merged by time.
Files are read twice, and may be compressed with gzip or Zstandard.

A file may also be ibdiagnet's ibdiagnet2.db_csv, with the counters of all ports in its
section PM_INFO. Its time is when the file was last modified: keep one of each run, by
cp -p or gzip, and give two or more.

docs/reference/counters.md lists the counters. Two readings of a counter make a rate, so
the first interval may be incomplete.`,
		Example: `  giverny collect --once --json --source perfquery >> readings.jsonl    # every minute
  giverny counters --topology ib0.yaml --interval 60s --tick-bytes 8 readings.jsonl > links.csv
  giverny diagnose --topology ib0.yaml --interval 60s --links links.csv
  giverny counters --topology ib0.yaml --interval 1h --tick-bytes 8 10h.db_csv 11h.db_csv > links.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			defer endAtOnce(cmd)()
			return convertCounters(cmd, topology, cfg, files)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&topology, "topology", "", "specification such as fattree:k=16, or a topology file")
	flags.DurationVar(&cfg.Interval, "interval", cfg.Interval, "length of an interval; no shorter than the time between two readings")
	flags.Int64Var(&cfg.TickPicoseconds, "tick-picoseconds", cfg.TickPicoseconds, "length of a tick of PortXmitWait, for ports that do not report ib.tick_picoseconds; 0: unknown")
	flags.IntVar(&cfg.TickBytes, "tick-bytes", cfg.TickBytes, "the same as the bytes that a link carries in a tick: 8 for NVIDIA Quantum switches; 0: unknown")
	return cmd
}

func convertCounters(cmd *cobra.Command, topology string, cfg window.Config, files []string) error {
	if err := cfg.Validate(); err != nil {
		return ofFlags(cmd, err)
	}
	graph, err := givenTopology(cmd, topology)
	if err != nil {
		return err
	}
	w, err := window.New(graph, cfg)
	if err != nil {
		return err
	}
	sum, err := offline.Convert(offline.Config{Fabric: graph.Fabric(), Interval: cfg.Interval, Window: w}, files, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	reportCounters(cmd.ErrOrStderr(), sum, w)
	if sum.Intervals == 0 {
		return fmt.Errorf("no interval of %v has a value; give readings of two times or more, of ports of the topology, and correct what is reported as dropped", cfg.Interval)
	}
	return nil
}

// reportCounters prints what was read, and what could not be used.
func reportCounters(to io.Writer, sum offline.Summary, w *window.Window) {
	known, unknown := w.Ports()
	fmt.Fprintf(to, "giverny counters: %s of %s, %s\n", plural.Count(sum.Readings, "reading", "readings"),
		plural.Count(known, "port", "ports"), plural.Count(sum.Intervals, "interval", "intervals"))
	if unknown > 0 {
		fmt.Fprintf(to, "giverny counters: %s not in the topology, such as %s\n", plural.Count(unknown, "port is", "ports are"), strings.Join(w.Mismatches(), ", "))
	}
	drops := w.Drops()
	for _, reason := range slices.Sorted(maps.Keys(drops)) {
		if drops[reason] > 0 {
			fmt.Fprintf(to, "giverny counters: dropped as %s: %d%s\n", reason, drops[reason], remedies[reason])
		}
	}
}

// remedies say what a person can do about readings dropped for a reason.
var remedies = map[string]string{
	window.NoTick.String():      " (PortXmitWait without the length of its tick: give --tick-bytes or --tick-picoseconds)",
	window.Gap.String():         " (readings further apart than the interval: give a longer --interval)",
	window.UnknownPort.String(): " (ports that the topology does not have: import it again)",
	window.Saturated.String():   " (32-bit counters at their maximum, where they stay: clear them, with perfquery -R, or read 64-bit counters)",
	window.Late.String():        " (lines that are not in order of time)",
	window.OutOfOrder.String():  " (lines that are not in order of time)",
}
