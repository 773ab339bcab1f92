package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping/run"
)

func newHostping(g *globals) *cobra.Command {
	cmd := newFolder("hostping", "Find bottlenecks inside a host by loopback probes of its RNICs")
	cmd.AddCommand(newHostpingGraph(), newHostpingBaseline(), newHostpingRun(), newHostpingLaunch(g), newHostpingFleet(g))
	return cmd
}

// probing adds the exit status to an error of the prober.
func probing(err error) error {
	if errors.Is(err, run.ErrProber) {
		return &proberError{err}
	}
	return err
}

// proberError is a failure of the prober.
type proberError struct{ error }

// ExitStatus returns the exit status of the process.
func (e *proberError) ExitStatus() int { return 2 }

// Unwrap returns the underlying error.
func (e *proberError) Unwrap() error { return e.error }
