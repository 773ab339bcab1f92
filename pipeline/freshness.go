package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// freshness is when what came last, of a live fabric, by the wall clock; it judges
// whether silence has lasted too long. It is a pure core: time arrives as a value.
type freshness struct {
	staleNanos   int64 // after which silence is a state
	startedNanos int64

	readNanos     int64            // readings came; 0: never
	readUpToNanos int64            // Kafka was read to its end; 0: never
	storedNanos   int64            // an interval was stored; 0: never
	endNanos      int64            // end of the newest stored interval; 0: none
	storingNanos  int64            // the store was given the result that it has not taken; 0: it has all
	heard         map[string]int64 // by agent
	last          schema.NetworkForecast

	latenessNanos int64 // for how long after their end intervals wait for readings
	lateNanos     int64 // readings came last for which they had not waited long enough; 0: never
	delayNanos    int64 // the longest that such took to arrive, of about the last minute
	delayedNanos  int64 // when those came
	periodNanos   int64 // of intervals
	resumingNanos int64 // a run began to read what is stored and has not got it yet; 0: none
	resumedNanos  int64 // a run had read it

	dropped       map[string]uint64 // readings since the start, by reason
	droppedThen   map[string]uint64 // when an interval was stored last
	droppedBefore map[string]uint64 // when the one before was
}

// staleIntervals is how many intervals without news are a state and no chance;
// minStale bounds it below: with short intervals a busy machine is no outage.
const (
	staleIntervals = 3
	minStale       = 10 * time.Second
)

// An agent that has been silent for forgetAgent is gone; agents beyond maxAgents
// are not counted.
const (
	forgetAgent = 24 * time.Hour
	maxAgents   = 100_000
)

func newFreshness(interval, lateness time.Duration, nowNanos int64) freshness {
	stale := max(staleIntervals*interval+lateness, minStale)
	return freshness{staleNanos: stale.Nanoseconds(), latenessNanos: lateness.Nanoseconds(), periodNanos: interval.Nanoseconds(), startedNanos: nowNanos, heard: map[string]int64{},
		last: schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NoInterval, Since: schema.Instant(nowNanos), Detail: "no interval has been stored since the start"}}}
}

// read notes readings of an agent.
func (f *freshness) read(agent string, nowNanos int64) {
	f.readNanos = nowNanos
	if _, known := f.heard[agent]; known {
		f.heard[agent] = nowNanos
	} else if len(f.heard) < maxAgents {
		f.heard[string([]byte(agent))] = nowNanos // the batch's memory is used again
	}
}

// late notes readings that an interval lacks, the newest of which took so long to arrive. What came in time for an
// interval is not late: it may be early, or the first after a gap. The longest delay of late counts, since with less
// patience than for that readings are still late.
func (f *freshness) late(delayNanos, nowNanos int64) {
	if delayNanos <= f.latenessNanos {
		return
	}
	if f.lateNanos = nowNanos; delayNanos >= f.delayNanos || nowNanos-f.delayedNanos > int64(time.Minute) {
		f.delayNanos, f.delayedNanos = delayNanos, nowNanos
	}
}

// stored notes an interval.
func (f *freshness) stored(r *schema.IntervalResult, nowNanos int64) {
	f.storedNanos, f.endNanos, f.last = nowNanos, max(f.endNanos, r.Snapshot.Interval.EndNanos()), r.Network
	f.droppedBefore, f.droppedThen = f.droppedThen, f.dropped
}

// agents counts those that report and those that have fallen silent.
func (f *freshness) agents(nowNanos int64) (reporting, silent int) {
	for name, at := range f.heard {
		switch {
		case nowNanos-at > forgetAgent.Nanoseconds():
			delete(f.heard, name)
		case nowNanos-at > f.staleNanos:
			silent++
		default:
			reporting++
		}
	}
	return reporting, silent
}

// silence says what has been missing for too long; nil: nothing. What comes first
// along the way of the data is not the cause if what comes after it fails too.
func (f *freshness) silence(nowNanos int64) *schema.Unknown {
	is := func(reason schema.UnknownReason, sinceNanos int64, detail string, args ...any) *schema.Unknown {
		age := time.Duration(nowNanos - sinceNanos).Truncate(time.Second)
		return &schema.Unknown{Reason: reason, Since: schema.Instant(sinceNanos), Detail: fmt.Sprintf(detail, append([]any{age}, args...)...)}
	}
	late := func(sinceNanos int64) bool { return nowNanos-sinceNanos > f.staleNanos }
	began := max(f.startedNanos, f.resumedNanos) // nothing is read before
	read, readUpTo, stored := max(f.readNanos, began), max(f.readUpToNanos, began), max(f.storedNanos, f.startedNanos)
	switch {
	case f.resumingNanos != 0:
		if late(f.resumingNanos) {
			return is(schema.StoreRefuses, f.resumingNanos, "the store has not given the intervals to resume from for %s")
		}
	case f.storingNanos != 0 && late(f.storingNanos):
		return is(schema.StoreRefuses, f.storingNanos, "the store has taken no interval for %s")
	case late(read) && late(readUpTo) && !late(stored): // nothing is read while the store is behind with what was
	case late(read) && late(readUpTo):
		return is(schema.KafkaAway, readUpTo, "Kafka has not answered for %s")
	case late(read):
		reporting, silent := f.agents(nowNanos)
		return is(schema.NoReadings, read, "no readings for %s, %d of %d agents report", reporting, reporting+silent)
	case late(stored):
		return is(schema.NoInterval, stored, "no interval stored for %s, although readings come%s", f.droppedSince(f.droppedThen))
	}
	return nil
}

// droppedSince says for what reason most readings were dropped since then; empty if none were.
func (f *freshness) droppedSince(then map[string]uint64) string {
	most, reason := uint64(0), ""
	for _, r := range slices.Sorted(maps.Keys(f.dropped)) {
		if n := f.dropped[r] - then[r]; n > most {
			most, reason = n, r
		}
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf("; %d readings were dropped as %s", most, reason)
}

// status is the state of the network now.
func (f *freshness) status(nowNanos int64) schema.NetworkForecast {
	now := f.last
	if why := cmp.Or(f.silence(nowNanos), f.lateness(nowNanos), f.unmeasured()); why != nil {
		now = schema.NetworkForecast{Severity: f.last.Severity, Unknown: why}
	}
	return now
}

// unmeasured is why the last interval measures nothing, or too little, with the reason for which readings were dropped
// since the one before.
func (f *freshness) unmeasured() *schema.Unknown {
	why := f.last.Unknown
	if why == nil || f.storedNanos == 0 || why.Reason != schema.NothingMeasured && why.Reason != schema.LowCoverage {
		return nil
	}
	return &schema.Unknown{Reason: why.Reason, Since: why.Since, Detail: why.Explained() + f.droppedSince(f.droppedBefore)}
}

// lateness says that intervals measure nothing, or too little, because they close before their readings arrive; nil: that
// is not so.
func (f *freshness) lateness(nowNanos int64) *schema.Unknown {
	why := f.last.Unknown
	if why == nil || f.lateNanos == 0 || nowNanos-f.lateNanos > f.staleNanos || why.Reason != schema.NothingMeasured && why.Reason != schema.LowCoverage {
		return nil
	}
	const unit = time.Second
	delay, enough := time.Duration(f.delayNanos).Round(unit), time.Duration(f.delayNanos+f.periodNanos).Truncate(unit)+2*unit
	return &schema.Unknown{Reason: schema.LateReadings, Since: why.Since, Detail: fmt.Sprintf(
		"readings arrive up to %s after they were taken, and intervals wait for %s: set allowed_lateness of the fabric to %s or more, or find what delays the readings (or the clocks of their devices are behind by so much)%s",
		delay, time.Duration(f.latenessNanos), enough, f.droppedSince(f.droppedBefore))}
}
