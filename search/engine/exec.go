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
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/search"
)

// ExecConfig is a program that speaks the engine protocol (docs/reference/search-protocol.md).
type ExecConfig struct {
	Command     []string      // an argument vector: no shell reads it
	Timeout     time.Duration // for an answer
	StopTimeout time.Duration // from "stop" until the program is killed
	Restarts    int           // in a row, without an answer between them
	Backoff     time.Duration // before the first restart in a row; doubles up to maxBackoff
}

// maxBackoff is the longest wait before a restart.
const maxBackoff = 5 * time.Second

// DefaultExecConfig waits as long as a measurement with many queue pairs takes.
func DefaultExecConfig(command []string) ExecConfig {
	return ExecConfig{Command: command, Timeout: 5 * time.Minute, StopTimeout: 5 * time.Second, Restarts: 10, Backoff: 100 * time.Millisecond}
}

// Validate names every fault.
func (c *ExecConfig) Validate() error {
	var f faults.List
	f.Check(len(c.Command) > 0, "command", "is empty: want a program and its arguments")
	f.Check(c.Timeout > 0, "timeout", "must be above 0")
	f.Check(c.StopTimeout > 0, "stop_timeout", "must be above 0")
	f.Check(c.Restarts >= 0, "restarts", "must be 0 or more")
	return f.Err()
}

// Exec is a program behind the engine protocol. A program that does what the protocol
// does not allow is killed, and started again at the next measurement.
type Exec struct {
	cfg       ExecConfig
	log       *slog.Logger
	name      string
	program   *coprocess.Program
	described *search.Description // its first answer to "describe"
	failures  int                 // in a row
}

// NewExec makes the engine; the program is started when it is first asked.
func NewExec(cfg ExecConfig, log *slog.Logger) (*Exec, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Exec{cfg: cfg, log: log, name: filepath.Base(cfg.Command[0])}, nil
}

// Describe asks the program.
func (e *Exec) Describe(ctx context.Context) (search.Description, error) {
	if err := e.ready(ctx); err != nil {
		return search.Description{}, err
	}
	return *e.described, nil
}

// Measure asks the program.
func (e *Exec) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if err := e.ready(ctx); err != nil {
		return search.Measurement{}, err
	}
	line, err := e.ask(ctx, request{Type: "measure", ID: id, Workload: &w})
	if err != nil {
		return search.Measurement{}, err
	}
	m, reason, err := parseAnswer(line, id, e.described)
	if err != nil {
		return search.Measurement{}, e.failed(reason, err)
	}
	e.failures = 0
	return m, nil
}

// Close tells the program to stop, and kills it if it does not.
func (e *Exec) Close() error {
	if e.program == nil {
		return nil
	}
	err := e.program.Stop(e.cfg.StopTimeout)
	e.program = nil
	return err
}

// ready starts the program if it does not run, and has it describe itself.
func (e *Exec) ready(ctx context.Context) error {
	if e.program != nil {
		return nil
	}
	if e.failures > e.cfg.Restarts {
		return fmt.Errorf("engine %s: %w", e.name, ErrGone)
	}
	if e.failures > 0 {
		if err := sleep(ctx, min(maxBackoff, e.cfg.Backoff<<min(e.failures-1, 16))); err != nil {
			return err
		}
	}
	p, err := coprocess.Start(e.cfg.Command, e.log.With("engine", e.name))
	if err != nil {
		return e.failed(Dead, err)
	}
	e.program = p
	line, err := e.ask(ctx, request{Type: "describe"})
	if err != nil {
		return err
	}
	d, err := parseDescription(line)
	switch {
	case err != nil:
		return e.failed(Nonsense, err)
	case e.described == nil:
		e.described = &d
		e.name = d.Name
	case !reflect.DeepEqual(*e.described, d):
		return e.failed(Nonsense, errors.New("after a restart it describes itself in another way"))
	}
	return nil
}

// ask sends a request and reads a line.
func (e *Exec) ask(ctx context.Context, r request) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line, reason, err := e.program.Ask(ctx, text, e.cfg.Timeout)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), e.kill())
	}
	if err != nil {
		return nil, e.failed(reason, fmt.Errorf("%s: %w", r.Type, err))
	}
	return line, nil
}

// failed kills the program and counts the failure.
func (e *Exec) failed(reason Reason, err error) error {
	if state := e.kill(); state != nil && reason == Dead {
		err = fmt.Errorf("%w (%w)", err, state)
	}
	e.failures++
	fault := &Fault{Engine: e.name, Reason: reason, Err: err}
	if e.failures > e.cfg.Restarts {
		return fmt.Errorf("%w: %w after %d restarts", fault, ErrGone, e.cfg.Restarts)
	}
	return fault
}

// kill ends the program if it runs, and gives what its end was.
func (e *Exec) kill() error {
	if e.program == nil {
		return nil
	}
	err := e.program.Kill()
	e.program = nil
	return err
}
