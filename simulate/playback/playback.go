// Package playback plays stories of the simulator: it reads one by name or from a file, and passes what happens in each step
// to Kafka, to the files that a site would keep, or both, at any speed.
package playback

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// Read reads a story from a file, or returns the built-in one with that name.
func Read(name string) (*scenario.Script, error) {
	if !strings.ContainsAny(name, "./\\") {
		script, err := scenario.Builtin(name)
		if _, absent := os.Stat(name); err == nil || absent != nil {
			return script, err
		}
	}
	file, err := plainfile.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return scenario.Read(file, name)
}

// send sends the events of a step and the devices' readings.
func send(ctx context.Context, sink *emitter.Emitter, fabric string, step *scenario.Step) error {
	// Events of jobs and failures have their own topics.
	events := slices.DeleteFunc(slices.Clone(step.Events), func(e schema.Event) bool {
		return e.Kind.IsFailure() || e.Kind == schema.JobStarted || e.Kind == schema.JobEnded
	})
	if err := errors.Join(sink.EmitEvents(ctx, fabric, events), sink.EmitJobs(ctx, fabric, step.Jobs),
		sink.EmitFailures(ctx, fabric, step.Failures), sink.EmitTraffic(ctx, fabric, step.JobTraffic(fabric))); err != nil {
		return err
	}
	for _, b := range step.Batches {
		if err := sink.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
