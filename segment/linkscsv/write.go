package linkscsv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/giverny/giverny/schema"
)

// Writer writes intervals as a links table whose first column is time, the start of the
// interval: a row per link with any measurement. The columns are the given metrics, or
// those of the first interval.
type Writer struct {
	out     *bufio.Writer
	metrics []schema.Metric
	begun   bool // the header is written
	lastEnd int64
	buf     []byte
}

// NewWriter returns a Writer to w; call Flush at the end. Without metrics the columns are
// those of the first interval.
func NewWriter(w io.Writer, metrics ...schema.Metric) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 1<<16), metrics: metrics}
}

// Write adds an interval, which must not begin before the last one ended.
func (w *Writer) Write(s *schema.Snapshot) error {
	if s.Interval.StartNanos < w.lastEnd {
		return fmt.Errorf("write links table: interval %s begins before the previous one ends", s.Interval)
	}
	if !w.begun {
		if err := w.writeHeader(s); err != nil {
			return err
		}
	}
	w.lastEnd = s.Interval.EndNanos()
	series, err := w.columns(s)
	if err != nil {
		return err
	}
	start := schema.Instant(s.Interval.StartNanos).String()
	for link := range s.Links {
		w.buf = append(append(w.buf[:0], start...), ',')
		w.buf = strconv.AppendInt(w.buf, int64(link), 10)
		measured := false
		for _, values := range series {
			w.buf = append(w.buf, ',')
			if values != nil && values.Valid.Has(link) {
				measured = true
				w.buf = strconv.AppendFloat(w.buf, float64(values.Values[link]), 'g', -1, 32)
			}
		}
		if !measured {
			continue
		}
		if _, err := w.out.Write(append(w.buf, '\n')); err != nil {
			return fmt.Errorf("write links table: %w", err)
		}
	}
	return nil
}

func (w *Writer) writeHeader(s *schema.Snapshot) error {
	if w.metrics == nil {
		for i := range s.Series {
			w.metrics = append(w.metrics, s.Series[i].Metric)
		}
	}
	if w.metrics == nil {
		return nil // nothing was measured, so no rows
	}
	w.begun = true
	w.buf = append(w.buf[:0], "time,link"...)
	for _, m := range w.metrics {
		w.buf = append(append(w.buf, ','), m.String()...)
	}
	if _, err := w.out.Write(append(w.buf, '\n')); err != nil {
		return fmt.Errorf("write links table: %w", err)
	}
	return nil
}

// columns returns the series of each column, nil if the interval has none.
func (w *Writer) columns(s *schema.Snapshot) ([]*schema.Series, error) {
	series, known := make([]*schema.Series, len(w.metrics)), 0
	for i, m := range w.metrics {
		if series[i] = s.Find(m); series[i] != nil {
			known++
		}
	}
	if known < len(s.Series) {
		return nil, errors.New("write links table: an interval has a metric that the first one lacks; all intervals must have the same metrics")
	}
	return series, nil
}

// Flush writes the buffered data.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write links table: %w", err)
	}
	return nil
}
