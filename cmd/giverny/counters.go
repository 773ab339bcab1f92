package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/recorded"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/dbcsv"
	"github.com/giverny/giverny/internal/decompress"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/topology"
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
			if topology == "" {
				return errors.New("--topology: empty; give a specification or a topology file")
			}
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
	graph, err := config.LoadTopology(config.Fabric{Topology: topology}, newLog(cmd, config.Default().Log))
	if err != nil {
		return err
	}
	w, err := window.New(graph, cfg)
	if err != nil {
		return fmt.Errorf("--%w", err)
	}
	metrics, err := metricsOf(files)
	if err != nil {
		return err
	}
	c := &converter{window: w, out: linkscsv.NewWriter(cmd.OutOrStdout(), metrics...), fabric: graph.Fabric(), interval: cfg.Interval, batch: recorded.NewBatch(graph.Fabric(), 1, cfg.Interval)}
	if err := readRows(files, c.add); err != nil {
		return err
	}
	if err := c.finish(); err != nil {
		return err
	}
	c.report(cmd.ErrOrStderr())
	if c.intervals == 0 {
		return fmt.Errorf("no interval of %v has a value; give readings of two times or more, of ports of the topology, and correct what is reported as dropped", cfg.Interval)
	}
	return nil
}

// metricsOf reads all files once, and returns the metrics of their counters, which are the columns. So a mistake in
// a file is found before anything is written.
func metricsOf(files []string) ([]schema.Metric, error) {
	found := map[schema.Metric]bool{}
	err := readRows(files, func(r recorded.Row) error {
		for name := range r.Counters {
			if c, known := schema.LookupCounter(name); known && c.Metric != schema.NoMetric {
				found[c.Metric] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("no reading has a counter of a metric; docs/reference/counters.md lists counters and their metrics")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// readRows passes the rows of files, in order of time, to add.
func readRows(files []string, add func(recorded.Row) error) error {
	rows, reports := recorded.NewReader(), map[time.Time]string{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		plain, err := decompress.Reader(name, file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer plain.Close()
		in := bufio.NewReader(plain)
		head, _ := in.Peek(topology.DetectSize) // the first read returns the error again
		if dbcsv.Looks(head) {
			err = addReport(rows, name, file, in, reports)
		} else {
			err = rows.Add(name, in)
		}
		if err != nil {
			return err
		}
	}
	for {
		r, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(r)
		}
		if err != nil {
			return err
		}
	}
}

// addReport adds a db_csv of ibdiagnet at the time at which it was written. Its own text has no time in a form that is known.
func addReport(rows *recorded.Reader, name string, file *os.File, text io.Reader, reports map[time.Time]string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	at := info.ModTime().UTC()
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: the time of ibdiagnet's db_csv is that of the file: give a file, not a pipe", name)
	}
	if other, twice := reports[at]; twice {
		return fmt.Errorf("%s and %s were modified at the same time, %s, which is the time of their counters: give the files of two runs, copied with cp -p", other, name, at.Format(time.RFC3339Nano))
	}
	reports[at] = name
	return rows.AddIBDiagnet(name, text, at)
}

// converter passes rows through a window, and writes what comes out.
type converter struct {
	window    *window.Window
	out       *linkscsv.Writer
	fabric    string
	interval  time.Duration
	batch     *recorded.Batch
	batches   uint64
	last      int64 // time of the latest row, Unix nanoseconds
	rows      int
	intervals int
}

// batchRows is the size of a batch: the window works by batch, and one of a large fabric has tens of thousands of rows.
const batchRows = 10000

func (c *converter) add(r recorded.Row) error {
	c.last = max(c.last, r.Time.UnixNano())
	if !c.batch.Fits(r) {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if c.batch.Add(r) < batchRows {
		return nil
	}
	return c.flush()
}

// flush passes the batch to the window, writes the intervals that are over, and begins another batch.
func (c *converter) flush() error {
	b := c.batch.Finish()
	if err := c.window.Add(b); err != nil {
		return err
	}
	c.rows += b.Rows()
	c.batches++
	c.batch = recorded.NewBatch(c.fabric, c.batches+1, c.interval)
	return c.write()
}

// finish writes all intervals that are left.
func (c *converter) finish() error {
	if err := c.flush(); err != nil {
		return err
	}
	over := c.last + 2*int64(c.interval) // later than any lateness
	c.window.Advance(over, over)
	return errors.Join(c.write(), c.out.Flush())
}

func (c *converter) write() error {
	for s := c.window.Next(); s != nil; s = c.window.Next() {
		if slices.ContainsFunc(s.Series, func(x schema.Series) bool { return x.Valid.Count() > 0 }) {
			c.intervals++
			if err := c.out.Write(s); err != nil {
				return err
			}
		}
		c.window.Recycle(s)
	}
	return nil
}

// report says what was read, and what could not be used.
func (c *converter) report(to io.Writer) {
	known, unknown := c.window.Ports()
	fmt.Fprintf(to, "giverny counters: %s of %s, %s\n", plural.Count(c.rows, "reading", "readings"),
		plural.Count(known, "port", "ports"), plural.Count(c.intervals, "interval", "intervals"))
	if unknown > 0 {
		fmt.Fprintf(to, "giverny counters: %s not in the topology, such as %s\n", plural.Count(unknown, "port is", "ports are"), strings.Join(c.window.Mismatches(), ", "))
	}
	drops := c.window.Drops()
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
