// Package run drives a search with engines. The input is engines, one per pair of
// hosts, and the search's parameters; the output is findings as they are made and a
// summary. Every measurement is logged; a search that was interrupted at any point can
// be resumed from the log, with the same result.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// Options of a search.
type Options struct {
	Engines []engine.Engine // one per pair of hosts; closed by the caller
	Search  search.Config   // Run sets Pairs and Known
	// Restrict is the part of the space to search; nil: all of it.
	Restrict search.Restriction
	// Known are MFS that are not searched again, in the format of Space.ParseKnown;
	// nil: none.
	Known []byte
	// KnownName is their source, for errors; may be empty.
	KnownName string
	// Log is the path of the log; empty: no log.
	Log string
	// OnFinding receives each finding, including those of a resumed log; may be nil.
	OnFinding func(Finding) error
	// OnProgress is called at the beginning and after every measurement; may be nil.
	OnProgress func(Progress)
	Logger     *slog.Logger
	Metrics    *Metrics // nil: none
}

// Finding is a finding of a search. Its JSON is that of search.Finding.
type Finding struct {
	search.Finding
	Shown search.Measurement // that first showed the anomaly
}

// Progress of a search.
type Progress struct {
	search.Summary
	Budget  int           // experiments
	Resumed int           // experiments that came from the log
	Elapsed time.Duration // since Run began to measure
}

// Left estimates the remaining time from the rate so far; 0: unknown.
func (p Progress) Left() time.Duration {
	done := p.Experiments - p.Resumed
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(p.Elapsed) / float64(done) * float64(p.Budget-p.Experiments))
}

// Summary is the result of a search. Its JSON is the last line of the report.
type Summary struct {
	search.Summary
	Interrupted bool `json:"interrupted,omitempty"` // the context ended before the budget was spent
}

// Run searches until the budget is spent or ctx ends, which is not an error. It returns
// an EngineError if no experiment succeeded.
func Run(ctx context.Context, o Options) (Summary, error) {
	if len(o.Engines) == 0 {
		return Summary{}, errors.New("search: no engine: want one for each pair of hosts")
	}
	description, err := Describe(ctx, o.Engines)
	if err != nil {
		return Summary{}, err
	}
	r := &runner{Options: o, pairs: make([]pair, len(o.Engines))}
	var logged []byte
	if o.Log != "" {
		if r.journal, logged, err = openJournal(o.Log); err != nil {
			return Summary{}, err
		}
	}
	if err := r.prepare(description, logged); err != nil {
		if r.search != nil {
			r.search.Close()
		}
		return Summary{}, errors.Join(err, r.journal.close())
	}
	s := r.search
	defer s.Close()
	err = errors.Join(r.measure(ctx), r.journal.close())
	summary := Summary{Summary: s.Summary()}
	summary.Interrupted = err == nil && s.Err() == nil && ctx.Err() != nil && summary.Experiments < o.Search.Budget
	err = errors.Join(err, s.Err())
	if err == nil && !summary.Interrupted && summary.Experiments > 0 && summary.Failed == summary.Experiments {
		err = &EngineError{fmt.Errorf("nothing was measured: all %d experiments failed, in set-up or because the fabric was not quiet: check the engine and its hosts, and search again", summary.Experiments)}
	}
	return summary, err
}

// prepare creates the search, and replays the log.
func (r *runner) prepare(d search.Description, logged []byte) error {
	settings := Settings{Description: d, Algorithm: r.Search.Algorithm, Budget: r.Search.Budget, Pairs: len(r.pairs), Seed: r.Search.Seed, Restrict: r.Restrict, Known: string(r.Known)}
	if len(logged) > 0 {
		// The calibration of the log applies to the whole search.
		var err error
		if d, err = sameSearch(logged, settings); err != nil {
			return fmt.Errorf("log %s: %w", r.Log, err)
		}
	}
	s, err := prepare(d, r.Options)
	if err != nil {
		return err
	}
	r.search = s
	switch {
	case r.journal == nil:
		return nil
	case len(logged) == 0:
		return r.journal.append(Header{Type: lineSearch, Version: logVersion, Time: time.Now().UTC(), Settings: settings})
	}
	if err := r.replay(logged); err != nil {
		return fmt.Errorf("log %s: %w", r.Log, err)
	}
	r.resumed = s.Summary().Experiments
	r.Logger.Info("search: resumed from the log", "log", r.Log, "experiments", r.resumed)
	return nil
}

// prepare creates the search of Options in the space of a description.
func prepare(d search.Description, o Options) (*search.Search, error) {
	space, err := Space(d, o.Restrict)
	if err != nil {
		return nil, err
	}
	cfg := o.Search
	cfg.Pairs = max(1, len(o.Engines))
	if cfg.Known, err = space.ParseKnown(o.Known); err != nil && o.KnownName != "" {
		err = fmt.Errorf("%s: %w", o.KnownName, err)
	}
	if err != nil {
		return nil, err
	}
	return search.New(d, space, cfg)
}

// Space is the space of a description, restricted if r is not empty.
func Space(d search.Description, r search.Restriction) (*search.Space, error) {
	space, err := search.NewSpace(d.Dimensions)
	if err != nil || len(r) == 0 {
		return space, err
	}
	return space.Restrict(r)
}

// Describe queries all engines, which must be pairs of the same subsystem.
func Describe(ctx context.Context, engines []engine.Engine) (search.Description, error) {
	var first search.Description
	for i, e := range engines {
		d, err := describe(ctx, e)
		if err != nil {
			return first, &EngineError{fmt.Errorf("pair %d: %w", i+1, err)}
		}
		if i == 0 {
			first = d
		} else if !reflect.DeepEqual(first.Dimensions, d.Dimensions) || !reflect.DeepEqual(first.Counters, d.Counters) {
			return first, &EngineError{fmt.Errorf("pair %d describes other dimensions or counters than pair 1: all pairs must have the same subsystem", i+1)}
		}
	}
	return first, nil
}

// describeAttempts is how often a failed description is tried.
const describeAttempts = 3

func describe(ctx context.Context, e engine.Engine) (d search.Description, err error) {
	for range describeAttempts {
		d, err = e.Describe(ctx)
		if fault := (*engine.Fault)(nil); !errors.As(err, &fault) || errors.Is(err, engine.ErrGone) {
			break
		}
	}
	return d, err
}

// EngineError is the failure of an engine, which ends a search.
type EngineError struct{ err error }

func (e *EngineError) Error() string { return "search: " + e.err.Error() }

// ExitStatus is the process exit status after an engine failure.
func (e *EngineError) ExitStatus() int { return 2 }

// Unwrap returns the underlying error.
func (e *EngineError) Unwrap() error { return e.err }

// runner is a running search.
type runner struct {
	Options
	search  *search.Search
	journal *journal // nil: no log
	pairs   []pair
	seen    []search.Measurement // by experiment number, less one
	resumed int
	begin   time.Time
}

// pair is the runner's state of a pair of hosts.
type pair struct {
	asked int  // measurements so far: the identifier of the last
	busy  bool // a measurement is running
	gone  bool // its engine has ended
}

// task is a measurement to make.
type task struct {
	id       int
	workload search.Workload
}

// result is the outcome of a task.
type result struct {
	task
	pair        int
	measurement search.Measurement
	err         error
}

// measure runs the engines until the search has no more workloads.
func (r *runner) measure(ctx context.Context) error {
	r.begin = time.Now()
	r.progress()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, _ := errgroup.WithContext(ctx)
	tasks := make([]chan task, len(r.pairs))
	results := make(chan result, len(r.pairs))
	for i := range tasks {
		tasks[i] = make(chan task, 1)
		group.Go(func() error {
			for t := range tasks[i] {
				m, err := r.Engines[i].Measure(ctx, t.id, t.workload)
				results <- result{t, i, m, err}
			}
			return nil
		})
	}
	var failed error
	for busy := r.ask(ctx, tasks); busy > 0; busy += r.ask(ctx, tasks) {
		if err := r.take(ctx, <-results); err != nil {
			failed = errors.Join(failed, err)
			cancel()
		}
		busy--
	}
	for _, t := range tasks {
		close(t)
	}
	return errors.Join(failed, group.Wait())
}

// ask gives every idle pair its next task, and returns how many got one.
func (r *runner) ask(ctx context.Context, tasks []chan task) (given int) {
	for i := range r.pairs {
		p := &r.pairs[i]
		if p.busy || p.gone || ctx.Err() != nil {
			continue
		}
		if w, ok := r.search.Next(i); ok {
			p.asked++
			p.busy = true
			tasks[i] <- task{p.asked, w}
			given++
		}
	}
	return given
}

// take processes the result of a task.
func (r *runner) take(ctx context.Context, got result) error {
	p := &r.pairs[got.pair]
	p.busy = false
	var fault *engine.Fault
	isFault := errors.As(got.err, &fault)
	if got.err != nil && ctx.Err() != nil {
		p.asked-- // it was interrupted, and is repeated when the search is resumed
		return nil
	}
	if errors.Is(got.err, engine.ErrGone) {
		p.gone = true
		r.Logger.Error("search: engine is out of service", "pair", got.pair+1, "error", got.err)
	} else if got.err != nil && !isFault {
		return &EngineError{fmt.Errorf("pair %d: %w", got.pair+1, got.err)}
	}
	if isFault {
		got.measurement = search.Measurement{Status: search.SetupFailed}
		if !p.gone {
			r.Logger.Warn("search: measurement failed, restarting the engine", "pair", got.pair+1, "id", got.id, "reason", fault.Reason, "error", fault)
		}
	}
	if got.err == nil || isFault {
		if err := r.keep(got, fault); err != nil {
			return err
		}
	}
	for i := range r.pairs {
		if !r.pairs[i].gone {
			return nil
		}
	}
	return &EngineError{fmt.Errorf("pair %d: %w", got.pair+1, got.err)}
}

// keep logs a measurement, and feeds it to the search.
func (r *runner) keep(got result, fault *engine.Fault) error {
	if r.journal != nil {
		if err := r.journal.measured(got, fault); err != nil {
			return err
		}
	}
	r.Metrics.measured(got.measurement.Status, fault)
	news := r.observe(got.pair, got.measurement)
	for _, f := range news {
		r.Metrics.found(f)
		if r.journal != nil {
			if err := r.journal.finding(f); err != nil {
				return err
			}
		}
	}
	r.progress()
	return r.announce(news)
}

// observe feeds a measurement to the search, and stores it by its number.
func (r *runner) observe(pair int, m search.Measurement) []search.Finding {
	if m.Status != search.Invalid {
		r.seen = append(r.seen, m)
	}
	return r.search.Observe(pair, m)
}

// announce passes findings to OnFinding.
func (r *runner) announce(news []search.Finding) error {
	if r.OnFinding == nil {
		return nil
	}
	for _, f := range news {
		if err := r.OnFinding(Finding{f, r.seen[f.Anomaly.Experiment-1]}); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) progress() {
	if r.OnProgress != nil {
		r.OnProgress(Progress{Summary: r.search.Summary(), Budget: r.Search.Budget, Resumed: r.resumed, Elapsed: time.Since(r.begin)})
	}
}
