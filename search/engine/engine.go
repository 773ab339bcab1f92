// Package engine measures workloads on RDMA subsystems. In goes a workload of the
// space that an engine describes, out comes a measurement. Engines are simulated
// subsystems, any program that speaks the engine protocol (exec), perftest and
// Collie's traffic engine on two hosts over ssh. An engine judges nothing: whether a
// measurement shows an anomaly is for package search to say.
package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/search"
)

// Engine measures workloads on one pair of hosts. One call at a time.
type Engine interface {
	// Describe is the space of workloads and the bounds of the subsystem.
	Describe(ctx context.Context) (search.Description, error)
	// Measure runs a workload. Identifiers rise with the measurements of a search,
	// from 1, and go on where they were when a search is resumed. A *Fault means that
	// the engine failed: the next call may work again. ErrGone means that none will.
	Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error)
	// Close ends what the engine has started. No call may follow.
	Close() error
}

// ErrGone is the end of an engine: it has failed too often in a row.
var ErrGone = errors.New("the engine has failed too often in a row")

// Reason of a fault.
type Reason = coprocess.Reason

// Reasons of faults.
const (
	InvalidAnswer   Reason = "invalid_answer"   // an answer that is none, or cannot be true
	DuplicateAnswer Reason = "duplicate_answer" // an answer to what was answered already

	Late           = coprocess.Late
	Died           = coprocess.Died
	AnswerTooLarge = coprocess.AnswerTooLarge
)

// Reasons lists them.
func Reasons() []Reason { return []Reason{InvalidAnswer, Late, DuplicateAnswer, Died, AnswerTooLarge} }

// Fault is what an engine did wrong.
type Fault struct {
	Engine string // its name
	Reason Reason
	Err    error
}

// Error names the engine and what it did.
func (f *Fault) Error() string { return fmt.Sprintf("engine %s: %v", f.Engine, f.Err) }

// Unwrap is what lies beneath.
func (f *Fault) Unwrap() error { return f.Err }
