package logs

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// every is the interval of summaries.
const every = time.Minute

// Limits of the state: causes, and devices of all causes together.
const (
	maxCauses  = 256
	maxDevices = 1 << 16
)

// causeKeys are the attributes that, with level and message, define the cause of a record. Devices,
// offsets and errors differ between repeats of a cause.
var causeKeys = []string{"component", "reason", "part", "sink", "operation", "fabric", "collector", "feed"}

// deviceKey is the attribute whose distinct values are counted.
const deviceKey = "device"

// quiet is a slog.Handler that rate limits warnings and errors by cause: the first record is written
// immediately; repeats are counted, and once a minute the last one is written with the group
// "repeats". When a cause has not repeated for a minute it is forgotten, with a record that says how
// often it occurred. Records below warn are passed through.
type quiet struct {
	inner  slog.Handler
	repeat *repeats
	with   []slog.Attr // the relevant ones of those set by With
}

// repeats is the state shared by the handlers of one logger.
type repeats struct {
	lock    sync.Mutex // guards the fields below
	causes  map[cause]*sum
	devices int // in the sets of all sums
	seed    maphash.Seed
}

type cause struct {
	level   slog.Level
	message string
	values  string // values of the causeKeys
}

// otherCauses is the message of the cause that collects all beyond maxCauses.
const otherCauses = "logs: many different causes"

// sum is the state of a cause.
type sum struct {
	timer   *time.Timer
	handler slog.Handler        // for the last record
	last    slog.Record         // the last repeat
	since   time.Time           // of the first record
	total   int                 // including the first
	repeats int                 // since the last record written
	devices map[uint64]struct{} // hashes of the repeats' devices
	capped  bool                // more devices than the limit
}

func newQuiet(inner slog.Handler) *quiet {
	return &quiet{inner: inner, repeat: &repeats{causes: map[cause]*sum{}, seed: maphash.MakeSeed()}}
}

// Enabled returns the inner handler's answer.
func (q *quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.inner.Enabled(ctx, level)
}

// WithAttrs remembers the attributes that are part of a cause.
func (q *quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := slices.Clip(q.with)
	for _, a := range attrs {
		if a.Key == deviceKey || slices.Contains(causeKeys, a.Key) {
			with = append(with, a)
		}
	}
	return &quiet{inner: q.inner.WithAttrs(attrs), repeat: q.repeat, with: with}
}

// WithGroup does not affect the cause.
func (q *quiet) WithGroup(name string) slog.Handler {
	return &quiet{inner: q.inner.WithGroup(name), repeat: q.repeat, with: q.with}
}

// Handle writes or counts a record.
func (q *quiet) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return q.inner.Handle(ctx, r)
	}
	c, device := q.causeOf(&r)
	if q.repeat.isRepeat(c, device, q.inner, &r) {
		return nil
	}
	return q.inner.Handle(ctx, r)
}

// causeOf returns the cause of a record, and its device, if any.
func (q *quiet) causeOf(r *slog.Record) (c cause, device string) {
	values := make([]string, len(causeKeys))
	take := func(a slog.Attr) bool {
		if a.Key == deviceKey {
			device = a.Value.String()
		} else if i := slices.Index(causeKeys, a.Key); i >= 0 {
			values[i] = a.Value.String()
		}
		return true
	}
	for _, a := range q.with {
		take(a)
	}
	r.Attrs(take)
	return cause{r.Level, r.Message, strings.Join(values, "\x00")}, device
}

// isRepeat counts a record, and reports whether it should not be written.
func (s *repeats) isRepeat(c cause, device string, handler slog.Handler, r *slog.Record) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	known := s.causes[c]
	if known == nil && len(s.causes) >= maxCauses {
		c = cause{level: r.Level, message: otherCauses}
		known = s.causes[c]
	}
	if known == nil {
		s.causes[c] = &sum{handler: handler, since: r.Time, total: 1, timer: time.AfterFunc(every, func() { s.minute(c) })}
		return false
	}
	known.handler, known.last = handler, r.Clone()
	known.total++
	known.repeats++
	s.addDevice(known, device)
	return true
}

func (s *repeats) addDevice(known *sum, device string) {
	if device == "" {
		return
	}
	hash := maphash.String(s.seed, device)
	if _, is := known.devices[hash]; is {
		return
	}
	if s.devices >= maxDevices {
		known.capped = true
		return
	}
	if known.devices == nil {
		known.devices = map[uint64]struct{}{}
	}
	known.devices[hash] = struct{}{}
	s.devices++
}

// minute is called a minute after the last record written for a cause.
func (s *repeats) minute(c cause) {
	s.lock.Lock()
	defer s.lock.Unlock()
	known := s.causes[c]
	switch {
	case known == nil: // flushed in the meantime
	case known.repeats > 0:
		s.write(known)
		known.timer.Reset(every)
	default:
		delete(s.causes, c)
		known.writeEnd(c)
	}
}

// write writes the last repeat with the count, and resets the count. Like slog's loggers, it ignores the
// handler's error.
func (s *repeats) write(known *sum) {
	attrs := []any{slog.Int("count", known.repeats)}
	switch n := len(known.devices); {
	case known.capped:
		attrs = append(attrs, slog.Int("devices_at_least", n))
	case n > 0:
		attrs = append(attrs, slog.Int("devices", n))
	}
	known.last.AddAttrs(slog.Group("repeats", attrs...), slog.Int("total", known.total))
	_ = known.handler.Handle(context.Background(), known.last)
	s.devices -= len(known.devices)
	clear(known.devices)
	known.repeats, known.capped = 0, false
}

// writeEnd writes that a cause no longer repeats, if it ever did.
func (known *sum) writeEnd(c cause) {
	if known.total == 1 || !known.handler.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "logs: message no longer repeated", 0)
	r.AddAttrs(slog.String("message", c.message), slog.Int("total", known.total), slog.Time("first", known.since), slog.Time("last", known.last.Time))
	known.last.Attrs(func(a slog.Attr) bool { // the handler adds those set by With
		if slices.Contains(causeKeys, a.Key) {
			r.AddAttrs(a)
		}
		return true
	})
	_ = known.handler.Handle(context.Background(), r)
}

// flush writes the pending summaries.
func (s *repeats) flush() {
	s.lock.Lock()
	defer s.lock.Unlock()
	var open []*sum
	for _, known := range s.causes {
		known.timer.Stop()
		if known.repeats > 0 {
			open = append(open, known)
		}
	}
	slices.SortFunc(open, func(a, b *sum) int { return a.last.Time.Compare(b.last.Time) })
	for _, known := range open {
		s.write(known)
	}
	clear(s.causes)
}
