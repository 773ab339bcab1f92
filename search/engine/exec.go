package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"time"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/search"
)

// DefaultExecConfig is of a program that speaks the engine protocol
// (docs/reference/search-protocol.md): it waits as long as a measurement with many
// queue pairs takes.
func DefaultExecConfig(command []string) coprocess.Config {
	return coprocess.Config{Command: command, Timeout: 5 * time.Minute, StopTimeout: 5 * time.Second, Restarts: 10, Backoff: 100 * time.Millisecond}
}

// Exec is a program behind the engine protocol. A program that does what the protocol
// does not allow is killed, and started again at the next measurement.
type Exec struct {
	restarts  int
	name      string
	program   *coprocess.Supervised
	described *search.Description // its first answer to "describe"
	log       *slog.Logger
	good      *search.Workload // the last that it measured
	failures  int              // in a row
	lacking   map[string]bool  // counters that an answer lacked
}

// NewExec makes the engine; the program is started when it is first asked.
func NewExec(cfg coprocess.Config, log *slog.Logger) (*Exec, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := filepath.Base(cfg.Command[0])
	return &Exec{restarts: cfg.Restarts, name: name, log: log, lacking: map[string]bool{}, program: coprocess.Supervise(cfg, log.With("engine", name))}, nil
}

// Describe asks the program.
func (e *Exec) Describe(ctx context.Context) (search.Description, error) {
	if err := e.ready(ctx); err != nil {
		return search.Description{}, err
	}
	return *e.described, nil
}

// askGoodAfter failures in a row, as many as a workload gets tries, a workload that is
// known to be good is measured: it tells a program that is dead from one that some
// workloads kill.
const askGoodAfter = 3

// Measure asks the program. Before it is given up, it gets a workload that it has
// measured before: if it measures that, its failures were those of the workload.
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
		text, _ := json.Marshal(w) // values that were read as JSON
		e.log.Warn("search: the engine works: it is this workload that it fails at", "engine", e.name, "id", id, "workload", string(text), "reason", fault.Reason)
		return m, err
	}
	if ctx.Err() != nil || errors.Is(again, ErrGone) {
		return m, again
	}
	e.failures++
	return m, err
}

// measure starts the program if it does not run, and asks it.
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

// missing warns of counters that the description has and an answer has not, once each.
func (e *Exec) missing(m *search.Measurement) {
	if m.Status != search.OK {
		return
	}
	for _, name := range e.described.Counters {
		if _, ok := m.Counters[name]; !ok && !e.lacking[name] {
			e.lacking[name] = true
			e.log.Warn("search: an answer lacks a counter of the description: it counts as 0", "engine", e.name, "counter", name)
		}
	}
}

// changedError is the end of an engine that is not what it was.
type changedError struct{ name string }

// Error says what to do.
func (e *changedError) Error() string {
	return fmt.Sprintf("engine %s: after a restart it describes itself in another way: what was measured does not hold for it: begin a new search", e.name)
}

// Is makes it a kind of ErrGone.
func (e *changedError) Is(target error) bool { return target == ErrGone }

// Close tells the program to stop, and kills it if it does not.
func (e *Exec) Close() error { return e.program.Close() }

// ready starts the program if it does not run, and has it describe itself.
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

// ask sends a request and reads a line.
func (e *Exec) ask(ctx context.Context, r request) ([]byte, error) {
	line, err := e.program.Ask(ctx, r)
	if fault, ok := errors.AsType[*coprocess.Fault](err); ok {
		fault.Err = fmt.Errorf("%s: %w", r.Type, fault.Err)
	}
	return line, e.fault(err)
}

// fault makes an engine's error of a program's.
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
