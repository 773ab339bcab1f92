package analysis

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// SaveIntervals is the number of results from one saved state to the next: in
// between, Resume needs the stored intervals.
const SaveIntervals = 10

// Interval is an interval with its regions as stored.
type Interval struct {
	Interval schema.Interval
	Graph    *topology.Graph // the version that it was stored under; nil: the one in force
	Regions  []schema.Region
	Snapshot *schema.Snapshot // nil: the hotspots do not learn from it
	Feeds    Feeds            // of its time, without jobs; set by Resume
}

// save returns the states of the stages.
func (c *Core) save() []schema.StageState {
	var states []schema.StageState
	for _, s := range c.stages {
		if l, ok := s.(Learner); ok {
			states = append(states, l.Save())
		}
	}
	return append(states, c.saveReaders())
}

// stateForm is the version of the saved state of all stages but diagnose. The bytes have a version of their own.
const stateForm = 1

func stateOf(s Stage, bytes []byte) schema.StageState {
	return schema.StageState{Stage: s.Name(), Version: stateForm, Bytes: bytes}
}

// checkForm rejects a state format of a later version of the program.
func checkForm(saved schema.StageState) error {
	if saved.Version != stateForm {
		return fmt.Errorf("saved state has version %d, this build reads up to %d; upgrade giverny", saved.Version, stateForm)
	}
	return nil
}

// restore sets what a stage has learned to what load makes of a saved state; an error changes nothing.
func restore[T any](learned *T, saved schema.StageState, load func([]byte) (T, error)) error {
	if err := checkForm(saved); err != nil {
		return err
	}
	loaded, err := load(saved.Bytes)
	if err == nil {
		*learned = loaded
	}
	return err
}

// Load restores what an earlier process had learned up to and including an
// interval, under the same version of the fabric. Call it before Resume, which
// then needs all intervals stored since. A stage without a state starts without
// one. If a state is damaged, of a later format or of other thresholds, Load
// fails and changes nothing.
func (c *Core) Load(upTo schema.Interval, states []schema.StageState) error {
	states, err := splitFirstForm(states)
	if err != nil {
		return fmt.Errorf("analysis: load: %w", err)
	}
	stages, err := newStages(c.graph, c.cfg)
	if err != nil {
		return err
	}
	for _, s := range stages {
		l, ok := s.(Learner)
		if !ok {
			continue
		}
		for _, saved := range states {
			if saved.Stage != s.Name() {
				continue
			}
			if err := l.Load(saved); err != nil {
				return fmt.Errorf("analysis: load stage %s: %w", s.Name(), err)
			}
		}
	}
	if err := c.loadReaders(states); err != nil {
		return fmt.Errorf("analysis: load stage %s: %w", readersState, err)
	}
	c.stages, c.loadedNanos = stages, upTo.EndNanos()
	return nil
}

// firstForm is the name of the state from before each stage had its own: the
// length of the tracker's part, then the parts of the tracker and the hotspots.
const firstForm = "all"

func splitFirstForm(states []schema.StageState) ([]schema.StageState, error) {
	if len(states) != 1 || states[0].Stage != firstForm {
		return states, nil
	}
	saved := states[0].Bytes
	length, n := binary.Uvarint(saved)
	if n <= 0 || length > uint64(len(saved)-n) {
		return nil, errors.New("the saved state is truncated")
	}
	return []schema.StageState{
		{Stage: (*trackStage)(nil).Name(), Version: stateForm, Bytes: saved[n : n+int(length)]},
		{Stage: (*hotspotStage)(nil).Name(), Version: stateForm, Bytes: saved[n+int(length):]},
	}, nil
}

// in returns the feeds' rows of an interval, without jobs.
func (f *Feeds) in(i schema.Interval) (in Feeds) {
	for _, e := range f.Events {
		if i.Contains(e.TimeNanos) {
			in.Events = append(in.Events, e)
		}
	}
	for _, failure := range f.Failures {
		if i.Contains(int64(failure.Time)) {
			in.Failures = append(in.Failures, failure)
		}
	}
	for _, traffic := range f.Traffic {
		if i.Contains(int64(traffic.Time)) {
			in.Traffic = append(in.Traffic, traffic)
		}
	}
	return in
}

// Resume makes the core continue after the intervals that an earlier process stored, given in order of time: it emits no
// result up to and including the last of them, and their regions pass on their identity. It skips intervals that Load has
// covered. Afterwards the version in force is that of the last interval. Resume returns errors for intervals that cannot
// follow the one before and pass nothing on; the core is usable nevertheless.
func (c *Core) Resume(stored []Interval) error {
	var errs []error
	for _, in := range stored {
		c.resumed, c.lastEnd = in.Interval.StartNanos, in.Interval.EndNanos()
		c.raw.openFrom = in.Interval.EndNanos()
		if in.Interval.StartNanos < c.loadedNanos {
			continue
		}
		if g := in.Graph; g != nil && g.Version() != c.graph.Version() {
			errs = append(errs, c.setGraph(g))
		}
		in.Feeds = c.recalled.in(in.Interval)
		for _, s := range c.stages {
			if l, ok := s.(Learner); ok {
				errs = append(errs, l.Resume(in))
			}
		}
	}
	c.recalled = Feeds{}
	c.window.RememberUntil(c.lastEnd)
	return errors.Join(errs...)
}

// Stored tells how many values, of all metrics together, stored intervals have, by their starts. If the input that a new
// process reads again gives one of them more, it was stored too early: TakeLost then reports it, as it would have for the
// process that stored it.
func (c *Core) Stored(values map[int64]int) { c.stored = values }

// compare compares an interval that is already stored with what its input gives now.
func (c *Core) compare(snap *schema.Snapshot) {
	at := snap.Interval
	had, known := c.stored[at.StartNanos]
	delete(c.stored, at.StartNanos)
	now := 0
	for i := range snap.Series {
		now += snap.Series[i].Count
	}
	if known && now > had {
		c.storedLost.Add(window.Lost{Rows: now - had, FirstNanos: at.StartNanos, LastNanos: at.EndNanos() - 1, SlackNanos: at.DurationNanos})
	}
}
