package coprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
)

// Config of a supervised program.
type Config struct {
	Command     []string      // an argument vector; no shell
	Timeout     time.Duration // for an answer
	StopTimeout time.Duration // from the stop request until the program is killed
	Restarts    int           // consecutive, without an answer in between
	Backoff     time.Duration // before the first consecutive restart; doubles up to maxBackoff
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(len(c.Command) > 0 && c.Command[0] != "", "command", "is empty: want a program and its arguments")
	f.Check(c.Timeout > 0, "timeout", "must be above 0")
	f.Check(c.StopTimeout > 0, "stop_timeout", "must be above 0")
	f.Check(c.Restarts >= 0, "restarts", "must be 0 or more")
	return f.Err()
}

// maxBackoff is the longest pause before a restart.
const maxBackoff = 5 * time.Second

// Supervised is a program that is started on first use and restarted after failures, up
// to a number of consecutive ones. It is not safe for concurrent use.
type Supervised struct {
	Name string // of its file, without the folder

	cfg      Config
	log      *slog.Logger
	program  *program
	failures int // consecutive
}

// Supervise returns a Supervised; nothing is started. Its log names the program by its role.
func Supervise(cfg Config, role string, log *slog.Logger) (*Supervised, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := filepath.Base(cfg.Command[0])
	return &Supervised{Name: name, cfg: cfg, log: log.With(role, name)}, nil
}

// ErrGone means that a program has failed too often in a row.
var ErrGone = errors.New("the program failed too many times in a row")

// Fault is a failure of a program. Gone means that it is not restarted.
type Fault struct {
	Reason Reason
	Err    error
	Gone   bool
}

// Error returns the error text.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the underlying error.
func (f *Fault) Unwrap() error { return f.Err }

// Start starts the program unless it is running; fresh says whether it was started now.
func (s *Supervised) Start(ctx context.Context) (fresh bool, err error) {
	if s.program != nil {
		return false, nil
	}
	if s.failures > s.cfg.Restarts {
		return false, ErrGone
	}
	if s.failures > 0 && !retry.Sleep(ctx, min(maxBackoff, s.cfg.Backoff<<min(s.failures-1, 16))) {
		return false, ctx.Err()
	}
	p, err := start(s.cfg.Command, s.log)
	if err != nil {
		return false, s.Failed(Died, err)
	}
	s.program = p
	return true, nil
}

// Ask sends a request, encoded as JSON, to the started program, and reads a line. The
// program is killed if ctx ends before it answers.
func (s *Supervised) Ask(ctx context.Context, request any) ([]byte, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	line, reason, err := s.program.Ask(ctx, text, s.cfg.Timeout)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), s.kill())
	}
	if err != nil {
		return nil, s.Failed(reason, err)
	}
	return line, nil
}

// Worked reports a valid answer, which resets the count of failures.
func (s *Supervised) Worked() { s.failures = 0 }

// Failed kills the program and counts the failure. The error is a *Fault.
func (s *Supervised) Failed(reason Reason, err error) error {
	if state := s.kill(); state != nil && reason == Died {
		err = fmt.Errorf("%w (%w)", err, state)
	}
	s.failures++
	return &Fault{Reason: reason, Err: err, Gone: s.failures > s.cfg.Restarts}
}

// Close asks the program to stop, and kills it if it does not.
func (s *Supervised) Close() error {
	if s.program == nil {
		return nil
	}
	err := s.program.Stop(s.cfg.StopTimeout)
	s.program = nil
	return err
}

// kill kills the program if it is running, and returns how it ended.
func (s *Supervised) kill() error {
	if s.program == nil {
		return nil
	}
	err := s.program.Kill()
	s.program = nil
	return err
}
