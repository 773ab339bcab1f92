package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/faults"
)

// Limits bound the jobs that a feed tracks.
type Limits struct {
	// A job that has run for longer counts as ended, regardless of the scheduler; 0: never.
	MaxAge time.Duration `yaml:"max_age"`
	// Maximum number of jobs at a time; more are dropped.
	MaxJobs int `yaml:"max_jobs"`
}

func defaultLimits() Limits { return Limits{MaxAge: 30 * 24 * time.Hour, MaxJobs: 200_000} }

func (l *Limits) validate(f *faults.List) {
	f.Check(l.MaxAge >= 0, "max_age", "%v: want 0 or more", l.MaxAge)
	f.Check(l.MaxJobs >= 1, "max_jobs", "%d: want 1 or more", l.MaxJobs)
}

// lister queries a scheduler. since is the time of the last successful query, initially zero.
// A list with an error is incomplete, whatever it says.
type lister interface {
	list(ctx context.Context, now, since time.Time) (List, error)
}

// source is a feed of a lister's jobs, filtered for changes by a tracker.
type source struct {
	lister  lister
	tracker *Tracker
	store   *feeds.Store
	last    time.Time // up to which everything was read
	dirty   bool      // running jobs differ from those in the store
}

// state is the content of the store.
type state struct {
	Last    time.Time `json:"last"`
	Running []entry   `json:"running"`
}

func newSource(l lister, limits Limits, env feeds.Env) (*source, error) {
	s := &source{lister: l, tracker: NewTracker(limits, env.ClockTolerance), store: env.Store}
	var saved state
	found, err := s.store.Load(&saved, env.Log)
	if err != nil {
		return nil, err
	}
	if found {
		s.last = saved.Last
		s.tracker.resume(saved.Running)
	}
	return s, nil
}

// Read returns the remaining changes of the last list, or lists again.
func (s *source) Read(ctx context.Context, now time.Time) (feeds.Rows, error) {
	var rows feeds.Rows
	if s.take(&rows); len(rows.Jobs) > 0 {
		return rows, nil
	}
	list, err := s.lister.list(ctx, now, s.last)
	// The next query begins after this one if most of the answer could be parsed.
	rows.Held = err == nil && list.Window && list.unparsed() > len(list.Rows)
	if err == nil && !rows.Held {
		s.last = now
	}
	if err != nil || len(list.Rows) == 0 && len(list.Dropped) > 0 {
		list.Complete, list.Prompt = false, false // an incomplete list, or one in another form, does not show that jobs left the queue
	}
	s.tracker.Update(&list, now)
	rows.Drops, rows.Doubts, rows.Listed = list.Drops, list.Doubts, len(list.Rows)
	s.take(&rows)
	return rows, err
}

// take takes as many changes as one read may return.
func (s *source) take(rows *feeds.Rows) {
	rows.Jobs, rows.More = s.tracker.Take(feeds.MaxRows)
	rows.Backlog = len(s.tracker.pending)
	s.dirty = s.dirty || len(rows.Jobs) > 0
}

// Commit saves the running jobs once all changes have been emitted.
func (s *source) Commit() error {
	if !s.dirty || len(s.tracker.pending) > 0 {
		return nil
	}
	if err := s.store.Save(state{s.last, s.tracker.running()}); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// zoneOf returns a time zone: a name such as Europe/Berlin, UTC, or Local for this host's.
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		name = "Local"
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q: want a name of the time zone database such as Europe/Berlin, UTC or Local", name)
	}
	return zone, nil
}
