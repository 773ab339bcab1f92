package store

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/giverny/giverny/schema"
)

// key identifies a stored interval, or a stored graph.
type key struct {
	fabric  string
	start   time.Time // a whole millisecond; 1970 for rows of no interval
	version uint64
	// revision is that of an interval: an interval that is stored again gets a
	// higher one.
	revision uint32
	// content is a hash that distinguishes inserts for the same interval with
	// different rows; 0: not used.
	content uint64
	repeat  int // how often rows that an engine lost were sent again
}

func keyOf(r *schema.IntervalResult) key {
	s := r.Snapshot
	return key{fabric: s.Fabric, start: instant(s.Interval.StartNanos), version: s.GraphVersion, revision: r.Revision}
}

// ofInterval reports whether the rows belong to an interval.
func (k key) ofInterval() bool { return k.start.Unix() != 0 }

// interval is the interval as an attribute of a log line; handlers leave out an empty one.
func (k key) interval() (a slog.Attr) {
	if k.ofInterval() {
		a = slog.Time("interval", k.start)
	}
	return a
}

func (k key) String() string {
	if !k.ofInterval() {
		return "fabric " + k.fabric
	}
	return fmt.Sprintf("%s of fabric %s", k.start.Format(time.RFC3339Nano), k.fabric)
}

// token is the deduplication token of an insert: the same for the same rows of
// a table and interval, in any process and on any try.
func (k key) token(table string, chunk int) string {
	t := fmt.Sprintf("%s/%s/%d/%x/%d", table, k.fabric, k.start.UnixMilli(), k.version, chunk)
	if k.revision > 0 { // intervals stored before revisions existed keep their tokens
		t += fmt.Sprintf("/r%d", k.revision)
	}
	if k.content != 0 {
		t += fmt.Sprintf("/c%x", k.content)
	}
	if k.repeat > 0 {
		t += fmt.Sprintf("/again%d", k.repeat)
	}
	return t
}

// validate rejects results that no table can hold. That is the caller's fault:
// retrying does not help.
func validate(r *schema.IntervalResult) error {
	s := r.Snapshot
	if s == nil || s.Fabric == "" {
		return errors.New("store a result: it has no snapshot of a named fabric")
	}
	var errs []error
	if iv := s.Interval; iv.DurationNanos <= 0 || iv.DurationNanos%1e6 != 0 || iv.StartNanos%1e6 != 0 {
		errs = append(errs, errors.New("starts and lasts must be whole milliseconds"))
	}
	seen := map[schema.Metric]bool{}
	for i := range s.Series {
		series := &s.Series[i]
		if series.Metric == schema.NoMetric || int(series.Metric) >= schema.NumMetrics || seen[series.Metric] {
			errs = append(errs, fmt.Errorf("series %d is of %v: want each metric once", i, series.Metric))
		}
		seen[series.Metric] = true
		if len(series.Values) != s.Links || len(series.Valid)*64 < s.Links {
			errs = append(errs, fmt.Errorf("%v has %d values and %d validity bits for %d links", series.Metric, len(series.Values), 64*len(series.Valid), s.Links))
		}
	}
	for i, b := range r.Raw {
		if err := b.Check(); err != nil {
			errs = append(errs, fmt.Errorf("raw batch %d: %w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("store %s of fabric %q: %w", s.Interval, s.Fabric, err)
	}
	return nil
}

// instant converts nanoseconds since 1970 to a UTC time.
func instant(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }
