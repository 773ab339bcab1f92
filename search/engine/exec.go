package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/search"
)

// DefaultExecConfig is for a program that implements the engine protocol
// (docs/reference/search-protocol.md). Its timeout allows for measurements with many
// queue pairs.
func DefaultExecConfig(command []string) coprocess.Config {
	return coprocess.Config{Command: command, Timeout: 5 * time.Minute, StopTimeout: 5 * time.Second, Restarts: 10, Backoff: 100 * time.Millisecond}
}

// Exec is a program that implements the engine protocol. A program that violates the
// protocol is killed, and restarted at the next measurement.
type Exec struct {
	restarts  int
	name      string // the program's, then that of the description
	program   *coprocess.Supervised
	described *search.Description // its first answer to "describe"
	log       *slog.Logger
	good      *search.Workload // the last one measured successfully
	failures  int              // in a row
	lacking   map[string]bool  // counters missing in some answer
}

// NewExec returns the engine; the program is started at the first request.
func NewExec(cfg coprocess.Config, log *slog.Logger) (*Exec, error) {
	program, err := coprocess.Supervise(cfg, "engine", log)
	if err != nil {
		return nil, err
	}
	return &Exec{restarts: cfg.Restarts, name: program.Name, log: log, lacking: map[string]bool{}, program: program}, nil
}

// Describe queries the program.
func (e *Exec) Describe(ctx context.Context) (search.Description, error) {
	if err := e.ready(ctx); err != nil {
		return search.Description{}, err
	}
	return *e.described, nil
}

// askGoodAfter is how many consecutive failures (the tries per workload) lead to the
// measurement of a workload known to be good, to distinguish a dead program from one
// that some workloads kill.
const askGoodAfter = 3

// Measure queries the program. Before giving it up, it retries a workload that
// succeeded earlier: if that works, the failures are due to the new workload.
func (e *Exec) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	m, err := e.measure(ctx, id, w)
	fault, isFault := errors.AsType[*Fault](err)
	switch {
	case err == nil:
		if m.Status == search.OK {
			e.good = &w
		}
		e.failures = 0
		return m, nil
	case !isFault || errors.Is(err, ErrGone) || ctx.Err() != nil:
		return m, err
	}
	if e.failures++; e.good == nil || e.failures < min(askGoodAfter, e.restarts) {
		return m, err
	}
	_, again := e.measure(ctx, id, *e.good)
	if again == nil {
		e.failures = 0
		text, _ := json.Marshal(w) // these values were read as JSON
		e.log.Warn("search: the engine is healthy but fails on this workload", "engine", e.name, "id", id, "workload", string(text), "reason", fault.Reason)
		return m, err
	}
	if ctx.Err() != nil || errors.Is(again, ErrGone) {
		return m, again
	}
	e.failures++
	return m, err
}

// measure starts the program if necessary, and queries it.
func (e *Exec) measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if err := e.ready(ctx); err != nil {
		return search.Measurement{}, err
	}
	line, err := e.ask(ctx, request{Type: "measure", ID: id, Workload: &w})
	if err != nil {
		return search.Measurement{}, err
	}
	m, reason, err := parseAnswer(line, id, e.described)
	if err != nil {
		return search.Measurement{}, e.fault(e.program.Failed(reason, err))
	}
	e.program.Worked()
	e.missing(&m)
	return m, nil
}

// missing warns once per counter that is described but missing in an answer.
func (e *Exec) missing(m *search.Measurement) {
	if m.Status != search.OK {
		return
	}
	for _, name := range e.described.Counters {
		if _, ok := m.Counters[name]; !ok && !e.lacking[name] {
			e.lacking[name] = true
			e.log.Warn("search: an answer lacks a counter of the description, taken as 0", "engine", e.name, "counter", name)
		}
	}
}

// changedError means that an engine's description changed.
type changedError struct{ name string }

// Error says what to do.
func (e *changedError) Error() string {
	return fmt.Sprintf("engine %s: its description changed after a restart, so earlier measurements are invalid: start a new search", e.name)
}

// Is makes it a kind of ErrGone.
func (e *changedError) Is(target error) bool { return target == ErrGone }

// Close asks the program to stop, and kills it if it does not.
func (e *Exec) Close() error { return e.program.Close() }

// ready starts the program if it is not running, and asks for its description.
func (e *Exec) ready(ctx context.Context) error {
	fresh, err := e.program.Start(ctx)
	if err != nil {
		return e.fault(err)
	}
	if !fresh {
		return nil
	}
	line, err := e.ask(ctx, request{Type: "describe"})
	if err != nil {
		return err
	}
	d, err := parseDescription(line)
	switch {
	case err != nil:
		return e.fault(e.program.Failed(InvalidAnswer, err))
	case e.described == nil:
		e.described = &d
		e.name = d.Name
	case !reflect.DeepEqual(*e.described, d):
		return &changedError{e.name}
	}
	return nil
}

// ask sends a request and reads one line.
func (e *Exec) ask(ctx context.Context, r request) ([]byte, error) {
	line, err := e.program.Ask(ctx, r)
	if fault, ok := errors.AsType[*coprocess.Fault](err); ok {
		fault.Err = fmt.Errorf("%s: %w", r.Type, fault.Err)
	}
	return line, e.fault(err)
}

// fault converts a program's error to an engine's.
func (e *Exec) fault(err error) error {
	if errors.Is(err, coprocess.ErrGone) {
		return fmt.Errorf("engine %s: %w", e.name, ErrGone)
	}
	f, ok := errors.AsType[*coprocess.Fault](err)
	if !ok {
		return err
	}
	fault := &Fault{Engine: e.name, Reason: f.Reason, Err: f.Err}
	if f.Gone {
		return fmt.Errorf("%w: %w after %d restarts", fault, ErrGone, e.restarts)
	}
	return fault
}
