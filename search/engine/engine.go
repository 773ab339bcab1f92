// Package engine measures workloads on RDMA subsystems. The input is a workload of the
// space that an engine describes, the output a measurement. Engines are simulated
// subsystems, any program that implements the engine protocol (exec), and perftest and
// Collie's traffic engine on two hosts over ssh. Engines do not decide whether a
// measurement shows an anomaly; package search does.
package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/search"
)

// Engine measures workloads on one pair of hosts. It is not safe for concurrent use.
type Engine interface {
	// Describe returns the space of workloads and the bounds of the subsystem.
	Describe(ctx context.Context) (search.Description, error)
	// Measure runs a workload. Identifiers count the measurements of a search from 1,
	// and continue when a search is resumed. A *Fault means that the engine failed, but
	// the next call may succeed. After ErrGone none will.
	Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error)
	// Close stops what the engine has started. No call may follow.
	Close() error
}

// ErrGone means that an engine has failed too often in a row and is given up.
var ErrGone = errors.New("the engine failed too many times in a row")

// Reason is the reason of a fault.
type Reason = coprocess.Reason

// Reasons of faults.
const (
	DuplicateAnswer Reason = "duplicate_answer" // an answer to a request that was already answered

	InvalidAnswer  = coprocess.InvalidAnswer
	Late           = coprocess.Late
	Died           = coprocess.Died
	AnswerTooLarge = coprocess.AnswerTooLarge
)

// Reasons lists all reasons.
func Reasons() []Reason { return []Reason{InvalidAnswer, Late, DuplicateAnswer, Died, AnswerTooLarge} }

// Fault is an engine's violation of the protocol, or failure.
type Fault struct {
	Engine string // its name
	Reason Reason
	Err    error
}

// Error names the engine and the error.
func (f *Fault) Error() string { return fmt.Sprintf("engine %s: %v", f.Engine, f.Err) }

// Unwrap returns the underlying error.
func (f *Fault) Unwrap() error { return f.Err }
