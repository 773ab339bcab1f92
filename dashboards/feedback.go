package dashboards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// nodeScores is the response of feedback/nodes: the scores, filtered as requested.
type nodeScores struct {
	*score.Set
	// AgeSeconds since the end of the interval; null if none is stored.
	AgeSeconds *float64 `json:"age_seconds"`
	Live       bool     `json:"live"` // the state of the network is known and current

	tag string
}

// ETag changes with each interval, and when the state of the network becomes unknown or known.
func (s *nodeScores) ETag() string { return s.tag }

// longestWait limits ?wait, and waitStep is how often the store is queried meanwhile.
const (
	longestWait = 5 * time.Minute
	waitStep    = 500 * time.Millisecond
)

// waitMargin is the time limit of a response beyond the wait.
const waitMargin = 30 * time.Second

type scoreParameters struct {
	ofFabric
	operation.Conditional
	Wait waiting `query:"wait" doc:"A duration up to 5m, such as 30s: with If-None-Match the answer waits this long for a change."`
	Min  float64 `query:"min" min:"0" max:"100" doc:"Nodes of this score or above."`
}

// waiting is how long a client is willing to wait.
type waiting time.Duration

// UnmarshalText parses a duration from 0 to longestWait.
func (w *waiting) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 || d > longestWait {
		return fmt.Errorf("%q: want a duration of 0s to %v, such as 30s", text, longestWait)
	}
	*w = waiting(d)
	return nil
}

// nodeScores returns the scores of the nodes; with wait it waits until there are scores that the client does not have.
func (d *Dashboards) nodeScores(ctx context.Context, p *scoreParameters) (*nodeScores, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	var tag string
	until := time.Now().Add(time.Duration(p.Wait))
	for {
		newest, err := d.newestScores(ctx, f)
		if err != nil {
			return nil, err
		}
		set := d.asOfNow(ctx, f, newest.set)
		tag = etagOf(f, d.scores, &newest.id, reasonOf(set), p.Min)
		if !p.Has(tag) {
			set.Nodes = atLeast(set.Nodes, p.Min)
			return d.withAge(set, tag, time.Now()), nil
		}
		if left := time.Until(until); left <= 0 || !d.awaitInterval(ctx, min(left, waitStep)) {
			return nil, operation.NotModified(tag)
		}
	}
}

func reasonOf(set *score.Set) schema.UnknownReason {
	if set.Unknown == nil {
		return ""
	}
	return set.Unknown.Reason
}

// freshFor is how long scores count as the newest if no interval has been announced since.
const freshFor = waitStep / 2

// newestScores returns the scores of a fabric's newest interval. Of concurrent callers, one queries the store and the
// others share its result: hundreds may wait for the same interval, and the analysis has priority in using the store.
func (d *Dashboards) newestScores(ctx context.Context, f *fabric) (newest scored, err error) {
	select {
	case f.scoring <- struct{}{}:
		defer func() { <-f.scoring }()
	case <-ctx.Done():
		return newest, ctx.Err()
	}
	last, latest := f.scored, d.intervals.last(f.name)
	asked := time.Now()
	if last.set != nil && last.latest == latest && asked.Sub(last.asked) < freshFor {
		return last, nil
	}
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		newest.set = &score.Set{Fabric: f.name, Nodes: []score.Node{}, Hosts: len(f.graphs.current().Hosts()),
			Unknown: d.noInterval(ctx, f, 0, "nothing is stored yet")}
		return newest, nil
	}
	if err != nil {
		return newest, err
	}
	newest = scored{scoredInterval{stored.StartNanos, stored.StoredAtNanos, stored.GraphVersion, stored.Revision}, last.set, asked, latest}
	if last.set == nil || last.id != newest.id {
		g, err := f.graphs.of(ctx, read.Version(stored.GraphVersion))
		if err != nil {
			return newest, err
		}
		result, err := d.model.Result(ctx, f.name, stored)
		if err != nil {
			return newest, err
		}
		newest.set = score.Of(g, result, d.scores)
	}
	f.scored = newest
	return newest, nil
}

// asOfNow returns a copy of scores that says if the state has become unknown since.
func (d *Dashboards) asOfNow(ctx context.Context, f *fabric, scores *score.Set) *score.Set {
	now := *scores
	if state, analysed := f.watched(); analysed && state.Unknown != nil { // it detects silence before an interval does
		now.Unknown = state.Unknown
	}
	if overdue := max(overdueIntervals*f.interval, minOverdue); now.Unknown == nil && time.Since(now.End.Time()) > overdue {
		now.Unknown = d.noInterval(ctx, f, now.End, fmt.Sprintf("no interval stored for more than %v", overdue))
	}
	return &now
}

// scored caches the scores of an interval.
type scored struct {
	id     scoredInterval
	set    *score.Set
	asked  time.Time      // when the store was last queried for newer ones
	latest schema.Instant // of the fabric at that time
}

// scoredInterval identifies a stored interval in one revision.
type scoredInterval struct {
	startNanos, storedAtNanos int64
	version                   uint64
	revision                  uint32
}

func (d *Dashboards) withAge(set *score.Set, tag string, now time.Time) *nodeScores {
	out := &nodeScores{Set: set, Live: set.Unknown == nil, tag: tag}
	if !set.End.IsZero() {
		seconds := now.Sub(set.End.Time()).Seconds()
		out.AgeSeconds = &seconds
	}
	return out
}

// atLeast returns the nodes with at least a score; nodes are sorted, the highest first.
func atLeast(nodes []score.Node, least float64) []score.Node {
	for i := range nodes {
		if nodes[i].Score < least {
			return nodes[:i]
		}
	}
	return nodes
}

// etagOf returns the entity tag of the scores of a stored interval from a least one on: it changes with each
// interval, with the configuration of scores, and when the state of the network becomes unknown or known. It is not
// made from the scores: of ten thousand nodes they are megabytes, and hundreds of clients may ask whether there is news.
func etagOf(f *fabric, cfg score.Config, id *scoredInterval, reason schema.UnknownReason, least float64) string {
	return operation.TagOf(fmt.Appendf(nil, "%q %+v %+v %s %g", f.name, cfg, *id, reason, least))
}

// awaitInterval waits for the next announcement of an interval, at most for most; it
// returns false if the client left. Intervals of other processes are announced late,
// and silence never is: most limits how late they are noticed.
func (d *Dashboards) awaitInterval(ctx context.Context, most time.Duration) bool {
	l, done := d.intervals.listen(1)
	defer done()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l.announced:
	case <-timer.C:
	}
	return true
}

type feedbackActions struct {
	inSpan
	more
	Actions []schema.FeedbackAction `json:"actions"`
}

type feedbackParameters struct {
	overSpan
	paged
}

// feedbackActions returns the audit log of feedback in a span.
func (d *Dashboards) feedbackActions(ctx context.Context, p *feedbackParameters) (*feedbackActions, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.NewestFeedback(ctx, q.fabric.name, p.before(q.span), p.limit())
	if err != nil {
		return nil, err
	}
	slices.Reverse(found)
	list, end := cut(&p.paged, found, func(a *schema.FeedbackAction) schema.Instant { return a.Time })
	slices.Reverse(list)
	return &feedbackActions{spanOf(q), end, list}, nil
}
