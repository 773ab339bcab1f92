package kafka

import (
	"context"
	"errors"
	"math"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/internal/retry"
)

// fetcher is a consumer's position in the log during one Run.
type fetcher struct {
	consumer *Consumer
	next     int64     // the next offset to fetch
	progress time.Time // when a record last arrived, or the stall check was last made
	failures int       // in a row
	pauses   *retry.Pauses
	failing  time.Time     // time of the first of them
	corrupt  int           // successive responses whose first batch is damaged
	dropped  []offsetRange // batches of the last response that decompress to too much
}

// corruptTries is how often a damaged batch is fetched before it is skipped: the network may have damaged
// it, or another replica may be intact.
const corruptTries = 3

// fetch returns the next records, possibly none. It fails only if ctx ends.
func (f *fetcher) fetch(ctx context.Context) (kafkago.RecordReader, error) {
	c := f.consumer
	if f.failures == 0 && c.answered.Load() != nil {
		c.hasAnswered() // no response was pending before
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
			f.dropped = answer.dropped
			f.skipDropped()
			return answer.records, nil
		}
		f.failed(ctx, err)
	}
	return nil, ctx.Err()
}

// failed handles a failed fetch and waits before the next try.
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
	case worthLogging(f.failures, err):
		c.log.Warn("kafka: fetch failed, retrying", "offset", f.next, "failures", f.failures, "error", c.client.cause(ctx, err))
	}
	if time.Since(f.failing) > c.client.config.Consumer.StallTimeout {
		c.client.reset(reconnectErrors)
		f.failing = time.Now()
	}
	f.pauses.Wait(ctx)
}

// resetToLogStart continues at the start of the log, after retention has removed the offset, or the log was
// recreated.
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

// skipCorrupt skips a record that cannot be read undamaged.
func (f *fetcher) skipCorrupt(err error) {
	f.consumer.client.metrics.lost.WithLabelValues(lostCorrupt).Inc()
	f.consumer.log.Error("kafka: record dropped, it is corrupt on the broker's disk", "offset", f.next, "error", err)
	f.corrupt, f.failures = corruptTries-1, 0 // the next record is probably in the same batch
	f.advance(f.next + 1)
}

// skipDropped skips the batches that are next and were not decompressed.
func (f *fetcher) skipDropped() {
	for _, batch := range f.dropped {
		if f.next < batch.first || f.next > batch.last {
			continue
		}
		records := batch.last + 1 - f.next
		f.consumer.client.metrics.lost.WithLabelValues(lostTooLarge).Add(float64(records))
		f.consumer.log.Error("kafka: batch dropped, it decompresses to more than producers may send", "offset", f.next, "records", records, "limit", maxUnpackedBatch)
		f.advance(batch.last + 1)
	}
}

// accept reports whether a record is needed: responses consist of batches, which may start earlier. A
// gap before it is counted: the broker no longer has those records.
func (f *fetcher) accept(offset int64) bool {
	if offset < f.next {
		return false
	}
	f.skipDropped()
	if gap := offset - f.next; gap > 0 {
		f.consumer.client.metrics.lost.WithLabelValues(lostGap).Add(float64(gap))
		f.consumer.log.Error("kafka: records are missing in the log", "offset", f.next, "lost", gap)
	}
	f.corrupt = 0
	return true
}

// advance continues at offset; records before it were handled or do not exist.
func (f *fetcher) advance(offset int64) {
	c := f.consumer
	f.next, f.progress = offset, time.Now()
	c.received.Store(f.progress.UnixNano())
	c.reached.Store(offset)
	c.metrics.offset.Set(float64(offset))
	c.mu.Lock()
	c.offsets.skip(offset)
	c.mu.Unlock()
}

// checkStall is called after an empty response and reconnects if the log grows nevertheless. It does not trust
// the log end in that response, but requests it.
func (f *fetcher) checkStall(ctx context.Context) {
	c := f.consumer
	if time.Since(f.progress) < c.client.config.Consumer.StallTimeout {
		return
	}
	f.progress = time.Now()
	if end, err := c.listOffset(ctx, kafkago.LastOffset); err != nil || end > f.next {
		c.log.Warn("kafka: fetch stalled, the log has records that are not delivered", "offset", f.next, "end", end)
		c.client.reset(reconnectStalled)
	}
}
