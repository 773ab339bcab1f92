package kafka

import (
	"context"
	"errors"
	"math"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/internal/retry"
)

// fetcher is where a consumer stands in the log, for the length of one Run.
type fetcher struct {
	consumer *Consumer
	next     int64     // the offset wanted
	progress time.Time // when a record came last, or when there was none to come
	failures int       // in a row
	pauses   *retry.Pauses
	failing  time.Time // when the first of them was
	corrupt  int       // answers in a row whose first batch is damaged
}

// corruptTries is how often a damaged batch is asked for before it is given up: the wire or another replica
// may do better.
const corruptTries = 3

// fetch returns the next records, perhaps none. It only fails when ctx ends.
func (f *fetcher) fetch(ctx context.Context) (kafkago.RecordReader, error) {
	c := f.consumer
	if f.failures == 0 && c.answered.Load() != nil {
		c.hasAnswered() // it owed nothing before
	}
	c.waiting.Store(true)
	for ctx.Err() == nil {
		start := time.Now()
		answer, err := c.client.fetch(ctx, c.topic, c.assigned.Partition, f.next)
		if err == nil {
			c.appended = answer.appended
			c.hasAnswered()
			c.waiting.Store(false)
			f.failures = 0
			f.pauses.Reset()
			c.metrics.reachable.Set(1)
			c.metrics.lag.Set(float64(max(0, answer.end-f.next)))
			if answer.end <= f.next {
				c.readUpTo.Store(start.UnixNano())
			}
			if answer.end > f.next {
				c.client.metrics.fetchSeconds.Observe(time.Since(start).Seconds())
			}
			return answer.records, nil
		}
		f.failed(ctx, err)
	}
	return nil, ctx.Err()
}

// failed deals with an answer that was an error and waits before the next try.
func (f *fetcher) failed(ctx context.Context, err error) {
	c := f.consumer
	if ctx.Err() != nil {
		return
	}
	if f.failures++; f.failures == 1 {
		f.failing = time.Now()
	}
	c.metrics.reachable.Set(0)
	c.metrics.lag.Set(math.NaN())
	switch {
	case errors.Is(err, kafkago.OffsetOutOfRange):
		f.resetToLogStart(ctx)
		return
	case isCorrupt(err):
		if f.corrupt++; f.corrupt >= corruptTries {
			f.skipCorrupt(err)
			return
		}
	case worthLogging(f.failures):
		c.log.Warn("kafka: fetch failed, retrying", "offset", f.next, "failures", f.failures, "error", err)
	}
	if time.Since(f.failing) > c.client.config.Consumer.StallTimeout {
		c.client.reset(reconnectErrors)
		f.failing = time.Now()
	}
	f.pauses.Wait(ctx)
}

// resetToLogStart begins at the start of the log, which has moved past the offset wanted, or was made again.
func (f *fetcher) resetToLogStart(ctx context.Context) {
	c := f.consumer
	first, err := c.listOffset(ctx, kafkago.FirstOffset)
	if err != nil {
		f.pauses.Wait(ctx)
		return
	}
	if first < f.next {
		c.mu.Lock()
		c.offsets.reset(first)
		c.mu.Unlock()
	}
	gone := max(0, first-f.next)
	c.client.metrics.lost.WithLabelValues(lostOutOfRange).Add(float64(gone))
	c.log.Error("kafka: offset out of range, reading from the start of the log; raise kafka.retention if records were lost",
		"offset", f.next, "start", first, "lost", gone)
	f.advance(first)
}

// skipCorrupt steps over a record that cannot be had undamaged.
func (f *fetcher) skipCorrupt(err error) {
	f.consumer.client.metrics.lost.WithLabelValues(lostCorrupt).Inc()
	f.consumer.log.Error("kafka: record dropped, it is damaged on the broker's disk", "offset", f.next, "error", err)
	f.corrupt, f.failures = corruptTries-1, 0 // the next record is probably in the same batch
	f.advance(f.next + 1)
}

// accept reports whether a record is wanted: brokers answer in batches, which may begin earlier. A gap
// before it is counted: the broker no longer has what was there.
func (f *fetcher) accept(offset int64) bool {
	if offset < f.next {
		return false
	}
	if gap := offset - f.next; gap > 0 {
		f.consumer.client.metrics.lost.WithLabelValues(lostGap).Add(float64(gap))
		f.consumer.log.Error("kafka: records are missing in the log", "offset", f.next, "lost", gap)
	}
	f.corrupt = 0
	return true
}

// advance goes on at offset; what lies before was handed on or does not exist.
func (f *fetcher) advance(offset int64) {
	c := f.consumer
	f.next, f.progress = offset, time.Now()
	c.metrics.offset.Set(float64(offset))
	c.mu.Lock()
	c.offsets.skip(offset)
	c.mu.Unlock()
}

// checkStall, called when an answer brought nothing, opens new connections when the log grows nevertheless. What
// that answer says of the log is not used: another request asks for its end.
func (f *fetcher) checkStall(ctx context.Context) {
	c := f.consumer
	if time.Since(f.progress) < c.client.config.Consumer.StallTimeout {
		return
	}
	f.progress = time.Now()
	if end, err := c.listOffset(ctx, kafkago.LastOffset); err != nil || end > f.next {
		c.log.Warn("kafka: fetch stalled, the log has records that do not come", "offset", f.next, "end", end)
		c.client.reset(reconnectStalled)
	}
}
