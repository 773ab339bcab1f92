package pipeline

import (
	"cmp"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
)

// lateness is how a run handles readings that are delayed on their way: after an
// outage it holds intervals open; in a run that completes stored intervals it
// puts the log in order; and readings that are late nevertheless are recorded, to
// be completed.
type lateness struct {
	log        *slog.Logger
	completion *completion // of the fabric; outlives runs
	hold       hold
	buffer     reorder

	rewound bool // the run went back, and has not caught up with the present yet
	// In a run that went back: losses before ignoreNanos are not new. In others: rows
	// before staleNanos should have been stored long ago, so they are stragglers of
	// an outage that an earlier process did not complete.
	ignoreNanos, staleNanos int64
}

// saw records the progress of a batch's agent.
func (l *lateness) saw(b *schema.CounterBatch, newest int64) {
	l.hold.saw(b.Agent, b.Source, newest)
	oldest := slices.Min(b.TimeNanos)
	l.completion.displaced(l.hold.newest - oldest)
	if oldest < l.staleNanos {
		l.noteLost(window.Lost{Rows: b.Rows(), FirstNanos: oldest, LastNanos: newest, SlackNanos: l.hold.newest - oldest}, l.hold.newest)
	}
}

func (l *lateness) noteLost(lost window.Lost, newest int64) {
	if lost.Rows == 0 || lost.LastNanos < l.ignoreNanos {
		return
	}
	before := l.completion.pending()
	l.completion.add(lost, newest)
	if !before && l.completion.pending() && !l.completion.saidRecurring {
		l.log.Warn("analysis: readings arrived after their interval was stored; it will be completed", "interval", schema.IntervalAt(lost.FirstNanos, l.completion.intervalNanos).String())
	}
}

// brokerAway starts a hold. why says why Kafka accepts no records; "": it does not answer.
func (l *lateness) brokerAway(why string, sinceNanos int64) {
	was := l.hold.holding
	l.hold.away(sinceNanos)
	if l.hold.holding {
		l.buffer.slackNanos = holdAll
	}
	l.hold.why = why
	if l.hold.holding && !was {
		l.log.Warn("analysis: holding intervals while Kafka is unreachable, and then until the agents' spools have arrived, at most for hold", "hold", time.Duration(l.hold.limitNanos), "reason", cmp.Or(why, "no answer"))
	}
}

// advance records that the sources have been read up to completeNanos. It
// returns a rewind if one is due.
func (l *lateness) advance(completeNanos, nowNanos int64) *rewind {
	if l.rewound {
		l.rewound, l.ignoreNanos, l.completion.going = false, math.MinInt64, nil
		if !l.hold.holding {
			l.buffer.flush()
		}
	}
	if l.hold.over(nowNanos) {
		behind, all := l.hold.behind()
		l.log.Info("analysis: intervals are no longer held", "agents", all, "behind", behind)
		l.buffer.flush()
	}
	if l.hold.holding || !l.completion.due(completeNanos, nowNanos) {
		return nil
	}
	return l.completion.take(nowNanos)
}

func (l *lateness) describe() string {
	switch {
	case l.hold.holding:
		return l.hold.describe()
	case l.rewound:
		return "analysing stored intervals again, with late readings"
	case l.completion.pending():
		return l.completion.describe()
	}
	return ""
}
