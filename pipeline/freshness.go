package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// freshness records when a live fabric last received or stored what, by the wall
// clock; it judges whether silence has lasted too long. It is pure: time is passed
// as a value.
type freshness struct {
	staleNanos   int64 // after which silence makes the state unknown
	startedNanos int64
	live         bool // readings come from Kafka, not from a replay

	readNanos     int64            // readings last arrived; 0: never
	readUpToNanos int64            // instant up to which Kafka was read; 0: never
	refusing      string           // why Kafka accepts no records; "": it does, or does not answer
	storedNanos   int64            // an interval was last stored; 0: never
	endNanos      int64            // end of the newest stored interval; 0: none
	storingNanos  int64            // the store was given a result that it has not stored yet; 0: none is pending
	heard         map[string]int64 // by agent
	backlog       backlog
	last          schema.NetworkForecast

	latenessNanos int64 // how long after their end intervals wait for readings
	lateNanos     int64 // readings last arrived that needed a longer wait; 0: never
	delayNanos    int64 // the longest delay of such readings, in about the last minute
	delayedNanos  int64 // when those arrived
	periodNanos   int64 // of intervals
	resumingNanos int64 // a run started to read the stored state and is not done; 0: none
	resumedNanos  int64 // a run last finished reading it

	dropped       map[string]uint64 // readings since the start, by reason
	droppedThen   map[string]uint64 // at the last stored interval
	droppedBefore map[string]uint64 // at the one before
}

// staleIntervals is how many intervals of silence make the state unknown;
// minStale is the minimum: with short intervals, a busy machine is not an
// outage.
const (
	staleIntervals = 3
	minStale       = 10 * time.Second
)

// An agent that has been silent for forgetAgent is forgotten; agents beyond
// maxAgents are not counted.
const (
	forgetAgent = 24 * time.Hour
	maxAgents   = 100_000
)

func newFreshness(interval, lateness time.Duration, nowNanos int64) freshness {
	stale := max(staleIntervals*interval+lateness, minStale)
	return freshness{staleNanos: stale.Nanoseconds(), latenessNanos: lateness.Nanoseconds(), periodNanos: interval.Nanoseconds(), startedNanos: nowNanos, heard: map[string]int64{},
		last: schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NoInterval, Since: schema.Instant(nowNanos), Detail: "no interval has been stored since the start"}}}
}

// read records readings of an agent.
func (f *freshness) read(agent string, nowNanos int64) {
	f.readNanos = nowNanos
	if _, known := f.heard[agent]; known {
		f.heard[agent] = nowNanos
	} else if len(f.heard) < maxAgents {
		f.heard[string([]byte(agent))] = nowNanos // copied since the batch's memory is reused
	}
}

// late records readings that an interval lacks, the newest of which took delayNanos to arrive. Readings that were in
// time are not late: they may have been early, or the first after a gap. The longest delay counts, since a shorter
// wait than that would still miss readings.
func (f *freshness) late(delayNanos, nowNanos int64) {
	if delayNanos <= f.latenessNanos {
		return
	}
	if f.lateNanos = nowNanos; delayNanos >= f.delayNanos || nowNanos-f.delayedNanos > int64(time.Minute) {
		f.delayNanos, f.delayedNanos = delayNanos, nowNanos
	}
}

// stored records a stored interval.
func (f *freshness) stored(r *schema.IntervalResult, nowNanos int64) {
	f.storedNanos, f.endNanos, f.last = nowNanos, max(f.endNanos, r.Snapshot.Interval.EndNanos()), r.Network
	f.droppedBefore, f.droppedThen = f.droppedThen, f.dropped
}

// agents counts the agents that report and those that are silent.
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

// silence returns what has been missing for too long; nil: nothing. An earlier
// stage of the data path is not blamed for what a later stage causes.
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
			return is(schema.StoreRefuses, f.resumingNanos, "the store has not returned the intervals to resume from for %s")
		}
	case f.storingNanos != 0 && late(f.storingNanos):
		return is(schema.StoreRefuses, f.storingNanos, "the store has accepted no interval for %s")
	case late(read) && late(readUpTo) && !late(stored): // a store that lags behind blocks reading
	case late(read) && late(readUpTo) && f.refusing != "":
		return is(schema.KafkaAway, readUpTo, "Kafka has accepted no records for %s: %s", f.refusing)
	case late(read) && late(readUpTo):
		return is(schema.KafkaAway, readUpTo, "Kafka has not answered for %s")
	case late(read):
		reporting, silent := f.agents(nowNanos)
		return is(schema.NoReadings, read, "no readings for %s, %d of %d agents report", reporting, reporting+silent)
	case late(stored):
		return is(schema.NoInterval, stored, "no interval stored for %s, although readings arrive%s", f.droppedSince(f.droppedThen))
	}
	return nil
}

// maxAge is how old the newest interval of a live fabric may be, beyond the time for which silence is normal: the delay of
// results is far less.
const maxAge = 5 * time.Minute

// old describes a newest interval that is old although the readings that arrive were sent just now. What is replayed has no
// clock to be compared with.
func (f *freshness) old(nowNanos int64) string {
	age := nowNanos - f.endNanos
	if !f.live || f.endNanos == 0 || nowNanos-f.readNanos > f.staleNanos || age <= f.staleNanos+int64(maxAge) || f.behind(nowNanos) != nil {
		return ""
	}
	return fmt.Sprintf("the newest interval ended %s ago although readings arrive: agents that send what they have spooled, "+
		"or the clocks of the devices are behind by that much", time.Duration(age).Truncate(time.Second))
}

// behind returns an Unknown while the readings that are analysed have waited in Kafka for too long: what they say of the
// network is the past.
func (f *freshness) behind(nowNanos int64) *schema.Unknown {
	lag := f.backlog.lag()
	if !f.live || f.endNanos == 0 || nowNanos-f.readNanos > f.staleNanos || lag <= time.Duration(f.staleNanos)+maxLag {
		return nil
	}
	return &schema.Unknown{Reason: schema.Behind, Since: schema.Instant(f.endNanos), Detail: fmt.Sprintf(
		"the analysis is %s behind the readings in Kafka%s", lag.Truncate(time.Second), f.backlog.outlook())}
}

// droppedSince describes the reason for which most readings were dropped since then; empty if none were.
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

// status returns the present state of the network.
func (f *freshness) status(nowNanos int64) schema.NetworkForecast {
	now := f.last
	if why := cmp.Or(f.silence(nowNanos), f.behind(nowNanos), f.lateness(nowNanos), f.unmeasured()); why != nil {
		now = schema.NetworkForecast{Severity: f.last.Severity, Unknown: why}
	}
	return now
}

// unmeasured returns why the last interval measured nothing or too little, with the main reason for dropped readings
// since the one before.
func (f *freshness) unmeasured() *schema.Unknown {
	why := f.last.Unknown
	if why == nil || f.storedNanos == 0 || why.Reason != schema.NothingMeasured && why.Reason != schema.LowCoverage {
		return nil
	}
	return &schema.Unknown{Reason: why.Reason, Since: why.Since, Detail: why.Explained() + f.droppedSince(f.droppedBefore)}
}

// lateness returns an Unknown if intervals measure nothing or too little because they close before their readings arrive;
// else nil.
func (f *freshness) lateness(nowNanos int64) *schema.Unknown {
	why := f.last.Unknown
	if why == nil || f.lateNanos == 0 || nowNanos-f.lateNanos > f.staleNanos || why.Reason != schema.NothingMeasured && why.Reason != schema.LowCoverage {
		return nil
	}
	const unit = time.Second
	delay, enough := time.Duration(f.delayNanos).Round(unit), time.Duration(f.delayNanos+f.periodNanos).Truncate(unit)+2*unit
	return &schema.Unknown{Reason: schema.LateReadings, Since: why.Since, Detail: fmt.Sprintf(
		"readings arrive up to %s after they were taken, and intervals wait for %s: after a failure of a broker this passes; if it lasts, set allowed_lateness of the fabric to %s or more, or find what delays the readings (the clocks of their devices may be behind by that much)%s",
		delay, time.Duration(f.latenessNanos), enough, f.droppedSince(f.droppedBefore))}
}
