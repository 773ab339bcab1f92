package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// halfBroken is a store of which one lookup fails.
type halfBroken struct {
	Store
	fails string
	asked map[string][]int64 // starts of the spans, by lookup
}

var errLookup = errors.New("lookup failed")

func (s *halfBroken) ask(lookup string, from int64) error {
	s.asked[lookup] = append(s.asked[lookup], from)
	if s.fails == lookup {
		return errLookup
	}
	return nil
}

func (s *halfBroken) LastInterval(ctx context.Context, fabric string, before int64) (schema.Interval, error) {
	if err := s.ask("last", before); err != nil {
		return schema.Interval{}, err
	}
	return s.Store.LastInterval(ctx, fabric, before)
}

func (s *halfBroken) Revisions(ctx context.Context, fabric string, from, to int64) ([]Revised, error) {
	if err := s.ask("revisions", from); err != nil {
		return nil, err
	}
	return s.Store.Revisions(ctx, fabric, from, to)
}

func (s *halfBroken) SavedStates(ctx context.Context, fabric string, upTo int64) (schema.Interval, uint64, []schema.StageState, error) {
	if err := s.ask("states", upTo); err != nil {
		return schema.Interval{}, 0, nil, err
	}
	return s.Store.SavedStates(ctx, fabric, upTo)
}

func (s *halfBroken) ResultsBetween(ctx context.Context, fabric string, from, to int64) ([]*schema.IntervalResult, error) {
	if err := s.ask("results", from); err != nil {
		return nil, err
	}
	return s.Store.ResultsBetween(ctx, fabric, from, to)
}

func (s *halfBroken) FoundBetween(ctx context.Context, fabric string, from, to int64) ([]*schema.IntervalResult, error) {
	return nil, s.ask("found", from)
}

func (s *halfBroken) FeedsBetween(ctx context.Context, fabric string, from, to int64) (analysis.Feeds, error) {
	return analysis.Feeds{}, s.ask("feeds", from)
}

func (s *halfBroken) Graph(ctx context.Context, fabric string, version uint64) (*topology.Graph, error) {
	if err := s.ask("graph", 0); err != nil {
		return nil, err
	}
	return s.Store.Graph(ctx, fabric, version)
}

// A run that cannot read all of its state does not start: without some of it, regions would get other IDs and events
// would be stored twice.
func TestAFailedLookupStopsAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		runFor(t, 30*time.Second, r.fabric(t, g, one(&polls{graph: g})))
		for _, fails := range []string{"last", "revisions", "states", "results", "feeds", ""} {
			store := &halfBroken{Store: r.store, fails: fails, asked: map[string][]int64{}}
			_, err := r.fabricOn(t, store, g, one(&polls{graph: g})).resume(t.Context(), nil, nil)
			if fails == "" && err != nil || fails != "" && !errors.Is(err, errLookup) {
				t.Errorf("lookup of %q fails: %v", fails, err)
			}
		}
		store := &halfBroken{Store: r.store, fails: "graph", asked: map[string][]int64{}} // of the stored intervals, another than now
		if _, err := r.fabricOn(t, store, extended(t, g), one(&polls{graph: g})).resume(t.Context(), nil, nil); !errors.Is(err, errLookup) {
			t.Errorf("lookup of the graph fails: %v", err)
		}
	})
}

// A follower that was away for very long gets the last day; the intervals before are counted as dropped.
func TestHowFarAFollowerCatchesUp(t *testing.T) {
	const hour, day = 3600 * second, 24 * 3600 * second
	for last, want := range map[int64]int64{8 * day: 9 * day, 9*day - 1: 9 * day, 10*day - hour: 10*day - hour} {
		r, out := newRig(), &follower{}
		store := &halfBroken{Store: r.store, asked: map[string][]int64{}}
		q := newSinkQueue(out, Deps{Store: store, Metrics: r.metrics}, "f", slog.New(slog.DiscardHandler), newHealth("f", r.metrics, nil))
		q.endNanos = last
		if whole := q.catchUp(t.Context(), out, schema.Interval{StartNanos: 10 * day, DurationNanos: 60 * second}); !whole || store.asked["found"][0] != want || q.endNanos != 10*day {
			t.Errorf("last had %d: whole %v, from %d, want %d, to %d", last, whole, store.asked["found"][0], want, q.endNanos)
		}
		if n, want := testutil.ToFloat64(r.metrics.sinkDropped.WithLabelValues("f", "", dropOld)), map[int64]float64{8 * day: 24 * 60, 9*day - 1: 1}[last]; n != want {
			t.Errorf("last had %d: %v intervals counted as dropped, want %v", last, n, want)
		}
	}
}
