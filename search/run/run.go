// Package run drives a search with engines. In go engines, one for each pair of
// hosts, and what to search for; out come findings as they are made and a summary.
// Every measurement is kept in a log, from which a search that was stopped at any
// moment goes on and ends the same.
package run

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// Options of a search.
type Options struct {
	Engines []engine.Engine // one for each pair of hosts; the caller closes them
	Search  search.Config   // Pairs and Known are set by Run
	// Restrict is the part of the space to search; the zero value is all of it.
	Restrict Restriction
	// Known are MFS of the engine's space, as JSON, that are not searched again.
	Known [][]byte
	// Log is the path of the log; empty: none is kept.
	Log string
	// OnFinding takes each finding, when resuming those of the log too; nil: none.
	OnFinding func(search.Finding) error
	// OnProgress is called after every measurement; nil: never.
	OnProgress func(Progress)
	Logger     *slog.Logger
}

// Progress of a search.
type Progress struct {
	search.Summary
	Budget  int
	Resumed int           // experiments that came from the log
	Elapsed time.Duration // since Run began
}

// Summary is what a search came to.
type Summary struct {
	search.Summary
	Interrupted bool `json:"interrupted,omitempty"` // the context ended before the budget
}

// Restriction is the part of a space that an application uses: a condition for each
// dimension that it names.
type Restriction map[string]search.Condition

// Run searches until the budget is spent or ctx ends, which is no error.
func Run(ctx context.Context, o Options) (Summary, error) {
	return Summary{}, errors.New("not yet")
}
