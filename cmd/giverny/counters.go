package main

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
)

// maxReadingBytes bounds a line: a port has at most a thousand counters of a name and 20 digits.
const maxReadingBytes = 1 << 20

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
Files are read twice; those that end in .gz or .zst are decompressed.
docs/reference/counters.md lists the counters. Two readings of a counter make a rate, so
the first interval may be incomplete.`,
		Example: `  giverny collect --once --json --source perfquery >> readings.jsonl    # every minute
  giverny counters --topology ib0.yaml --interval 60s readings.jsonl > links.csv
  giverny diagnose --topology ib0.yaml --interval 60s --links links.csv`,
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
	readings, err := openReadings(files)
	if err != nil {
		return err
	}
	defer readings.close()
	c := &converter{window: w, out: linkscsv.NewWriter(cmd.OutOrStdout(), metrics...), fabric: graph.Fabric(), interval: int64(cfg.Interval)}
	if err := c.convert(readings); err != nil {
		return err
	}
	c.report(cmd.ErrOrStderr())
	if c.intervals == 0 {
		return fmt.Errorf("no interval of %v has a value; give readings of two times or more, of ports of the topology", cfg.Interval)
	}
	return nil
}

// metricsOf reads all files once, and returns the metrics of their counters, which are the columns. So a mistake in
// a file is found before anything is written.
func metricsOf(files []string) ([]schema.Metric, error) {
	readings, err := openReadings(files)
	if err != nil {
		return nil, err
	}
	defer readings.close()
	found := map[schema.Metric]bool{}
	for {
		r, err := readings.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for name := range r.Counters {
			if c, known := schema.LookupCounter(name); known && c.Metric != schema.NoMetric {
				found[c.Metric] = true
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no reading has a counter of a metric; docs/reference/counters.md lists counters and their metrics")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// converter passes readings through a window.
type converter struct {
	window    *window.Window
	out       *linkscsv.Writer
	fabric    string
	interval  int64
	rows      int
	intervals int
}

// batchRows is the size of a batch: the window works by batch, and one of a large fabric has tens of thousands of rows.
const batchRows = 10000

func (c *converter) convert(readings *readings) error {
	batch, sequence := newReadingBatch(), uint64(0)
	flush := func() error {
		sequence++
		b := batch.finish(c.fabric, sequence, c.interval)
		if err := c.window.Add(b); err != nil {
			return err
		}
		c.rows += b.Rows()
		batch = newReadingBatch()
		return c.write()
	}
	last := int64(0)
	for {
		r, err := readings.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if last = max(last, r.Time.UnixNano()); batch.add(r) >= batchRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	over := last + 2*c.interval // later than any lateness
	c.window.Advance(over, over)
	return errors.Join(c.write(), c.out.Flush())
}

func (c *converter) write() error {
	for s := c.window.Next(); s != nil; s = c.window.Next() {
		if s.Samples > 0 {
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
			fmt.Fprintf(to, "giverny counters: dropped as %s: %d\n", reason, drops[reason])
		}
	}
}

// readingBatch collects rows that may have different counters.
type readingBatch struct {
	batch   schema.CounterBatch
	ports   map[schema.PortName]uint32
	columns map[string]int
	present [][]int // by column: rows that have it
}

func newReadingBatch() *readingBatch {
	return &readingBatch{ports: map[schema.PortName]uint32{}, columns: map[string]int{}}
}

// add adds a row and returns the number of rows.
func (b *readingBatch) add(r *rowJSON) int {
	port := schema.PortName{Device: r.Device, Port: r.Port}
	index, known := b.ports[port]
	if !known {
		index = uint32(len(b.batch.Ports))
		b.ports[port] = index
		b.batch.Ports = append(b.batch.Ports, port)
	}
	row := b.batch.Rows()
	b.batch.TimeNanos, b.batch.PortIndex = append(b.batch.TimeNanos, r.Time.UnixNano()), append(b.batch.PortIndex, index)
	for name, value := range r.Counters {
		k, known := b.columns[name]
		if !known {
			k = len(b.batch.Columns)
			b.columns[name] = k
			b.batch.Columns, b.present = append(b.batch.Columns, schema.CounterColumn{Name: name}), append(b.present, nil)
		}
		column := &b.batch.Columns[k]
		column.Values = append(slices.Grow(column.Values, row+1-len(column.Values)), make([]uint64, row+1-len(column.Values))...)
		column.Values[row] = value
		b.present[k] = append(b.present[k], row)
	}
	return b.batch.Rows()
}

// finish gives every column a value or a gap for every row.
func (b *readingBatch) finish(fabric string, sequence uint64, interval int64) *schema.CounterBatch {
	b.batch.Fabric, b.batch.Source, b.batch.Agent, b.batch.Sequence, b.batch.IntervalNanos = fabric, "counters", "counters", sequence, interval
	rows := b.batch.Rows()
	for k := range b.batch.Columns {
		column := &b.batch.Columns[k]
		column.Values = append(column.Values, make([]uint64, rows-len(column.Values))...)
		column.Valid = schema.NewBitmap(rows)
		for _, row := range b.present[k] {
			column.Valid.Set(row)
		}
	}
	return &b.batch
}

// readings merges files of readings by time.
type readings struct {
	sources []*readingSource // a heap by the time of the next reading
	closers []io.Closer
}

// readingSource is a file; head is its next reading.
type readingSource struct {
	name  string
	lines *bufio.Scanner
	line  int
	head  rowJSON
}

func openReadings(files []string) (*readings, error) {
	r := &readings{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.closers = append(r.closers, file)
		plain, err := linkscsv.Decompressed(name, file)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), r.close())
		}
		r.closers = append(r.closers, plain)
		s := &readingSource{name: name, lines: bufio.NewScanner(plain)}
		s.lines.Buffer(nil, maxReadingBytes)
		switch err := s.advance(); {
		case errors.Is(err, io.EOF):
			continue
		case err != nil:
			return nil, errors.Join(err, r.close())
		}
		r.sources = append(r.sources, s)
	}
	heap.Init(r)
	return r, nil
}

// advance reads the next reading of the file into head.
func (s *readingSource) advance() error {
	for s.lines.Scan() {
		s.line++
		text := bytes.TrimSpace(bytes.TrimPrefix(s.lines.Bytes(), []byte("\ufeff")))
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		before := s.head.Time
		s.head = rowJSON{}
		err := json.Unmarshal(text, &s.head)
		switch {
		case err != nil:
			err = fmt.Errorf("%w; want an object as giverny collect --once --json prints it, with time in RFC 3339 and counters as whole numbers", err)
		case s.head.Time.IsZero() || s.head.Device == "" || s.head.Port == "":
			err = errors.New("want time, device and port")
		case s.head.Time.Before(before.Add(-time.Minute)):
			err = fmt.Errorf("time %s comes after %s: want readings in order of time", s.head.Time.Format(time.RFC3339), before.Format(time.RFC3339))
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.name, s.line, err)
		}
		return nil
	}
	if err := s.lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", s.name, s.line+1, err)
	}
	return io.EOF
}

// next returns the earliest reading of all files, valid until the next call; io.EOF after the last.
func (r *readings) next() (*rowJSON, error) {
	if len(r.sources) == 0 {
		return nil, io.EOF
	}
	s := r.sources[0]
	row := s.head
	switch err := s.advance(); {
	case errors.Is(err, io.EOF):
		heap.Pop(r)
	case err != nil:
		return nil, err
	default:
		heap.Fix(r, 0)
	}
	return &row, nil
}

func (r *readings) close() (err error) {
	for i := len(r.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closers[i].Close())
	}
	return err
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r *readings) Len() int           { return len(r.sources) }
func (r *readings) Less(i, j int) bool { return r.sources[i].head.Time.Before(r.sources[j].head.Time) }
func (r *readings) Swap(i, j int)      { r.sources[i], r.sources[j] = r.sources[j], r.sources[i] }
func (r *readings) Push(x any)         { r.sources = append(r.sources, x.(*readingSource)) }

func (r *readings) Pop() any {
	last := r.sources[len(r.sources)-1]
	r.sources = r.sources[:len(r.sources)-1]
	return last
}
