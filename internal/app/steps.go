package app

import (
	"context"

	"github.com/giverny/giverny/internal/lifecycle"
)

// Steps returns the parts in the order of the data. The agent collects from the start, into its spool while Kafka is
// unavailable; the other parts start once the store and the topics are ready.
func (parts *Parts) Steps(context.Context) (steps []Step, err error) {
	p := parts.process
	prepared := make(chan struct{})
	preparation := lifecycle.Stage{Name: "preparation", Run: func(ctx context.Context) error {
		if err := p.prepare(ctx); err != nil {
			return err
		}
		close(prepared)
		<-ctx.Done()
		return nil
	}}
	if parts.agent != nil {
		pollers, sending, err := parts.agent.Stages()
		if err != nil {
			return nil, err
		}
		steps = append(steps, pollers, sending)
	}
	for _, step := range parts.prepared() {
		for i := range step {
			step[i] = once(prepared, step[i])
		}
		steps = append(steps, step)
	}
	last := Step{preparation}
	if parts.watcher != nil { // of a role
		last = append(last, lifecycle.Stage{Name: "topology watcher", Run: parts.watcher.Run})
	}
	return append(steps, last), nil
}

// once starts a stage when the channel is closed.
func once(begin <-chan struct{}, stage lifecycle.Stage) lifecycle.Stage {
	return lifecycle.Stage{Name: stage.Name, Run: func(ctx context.Context) error {
		select {
		case <-begin:
			return stage.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	}}
}

// prepare waits for Kafka and the store, creates missing topics, to which the agent is sending already, and migrates the tables.
func (p *Process) prepare(ctx context.Context) error {
	if p.client != nil {
		if err := p.EnsureTopics(ctx); err != nil {
			return err
		}
	}
	if p.db != nil {
		return p.awaitStore(ctx)
	}
	return nil
}

// prepared returns the parts that need the store and the topics.
func (parts *Parts) prepared() (steps []Step) {
	p := parts.process
	var running Step
	for _, line := range parts.pipelines {
		running = append(running, lifecycle.Stage{Name: "fabric " + line.Name(), Run: line.Run})
	}
	if parts.replay != nil {
		running = append(running, *parts.replay)
	}
	running = append(running, parts.audit...)
	running = append(running, parts.rollUps()...)
	if len(running) > 0 {
		steps = append(steps, running)
	}
	if parts.feedback != nil { // consumes the pipelines' results; the audit outlives it
		steps = append(steps, parts.feedbackSteps()...)
	}
	if parts.leases != nil { // outlives the writers that hold the leases
		steps = append(steps, Step{{Name: "leases", Run: parts.leases.Run}})
	}
	if parts.pages != nil {
		steps = append(steps, Step{{Name: "page", Run: parts.pages.Run}})
	}
	if p.analyst != nil {
		steps = append(steps, Step{{Name: "analyst", Run: p.analyst}})
	}
	return steps
}
