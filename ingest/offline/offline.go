// Package offline computes the stall of links from files of recorded readings, by the window of the live analysis. Files
// of counters go in; a links CSV comes out, and what could not be used is counted.
package offline

import (
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/ingest/recorded"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
)

// Config is what the readings are of.
type Config struct {
	Fabric   string
	Interval time.Duration
	Window   *window.Window // without readings; it has those of the files afterwards
}

// Summary is what was read and written.
type Summary struct{ Readings, Intervals int }

// Convert reads files twice: first for the columns, so that a mistake in a file is found before anything is written.
func Convert(cfg Config, files []string, out io.Writer) (Summary, error) {
	metrics, err := metricsOf(files)
	if err != nil {
		return Summary{}, err
	}
	c := &converter{Config: cfg, out: linkscsv.NewWriter(out, metrics...), batch: recorded.NewBatch(cfg.Fabric, 1, cfg.Interval)}
	if err = readRows(files, c.add); err == nil {
		err = c.finish()
	}
	return c.sum, err
}

// metricsOf returns the metrics of the counters in files, which are the columns.
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

// converter passes rows through a window, and writes what comes out.
type converter struct {
	Config
	out     *linkscsv.Writer
	batch   *recorded.Batch
	batches uint64
	last    int64 // time of the latest row, Unix nanoseconds
	sum     Summary
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
	if err := c.Window.Add(b); err != nil {
		return err
	}
	c.sum.Readings += b.Rows()
	c.batches++
	c.batch = recorded.NewBatch(c.Fabric, c.batches+1, c.Interval)
	return c.write()
}

// finish writes all intervals that are left.
func (c *converter) finish() error {
	if err := c.flush(); err != nil {
		return err
	}
	over := c.last + 2*int64(c.Interval) // later than any lateness
	c.Window.Advance(over, over)
	return errors.Join(c.write(), c.out.Flush())
}

func (c *converter) write() error {
	for s := c.Window.Next(); s != nil; s = c.Window.Next() {
		if slices.ContainsFunc(s.Series, func(x schema.Series) bool { return x.Valid.Count() > 0 }) {
			c.sum.Intervals++
			if err := c.out.Write(s); err != nil {
				return err
			}
		}
		c.Window.Recycle(s)
	}
	return nil
}
