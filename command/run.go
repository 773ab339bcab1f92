package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
)

// Causes that end a command's context.
var (
	errRunTime = errors.New("stopped at the run time limit")
	errStopped = errors.New("the agent was stopped while the command ran")
	errNoKafka = Cancelled("stopped: Kafka is unreachable, so the command could no longer be cancelled")
)

// cancelledError is the cause of a command that was cancelled.
type cancelledError struct{ text string }

func (e *cancelledError) Error() string { return e.text }

// Cancelled is the error of a handler that stops for its own reason: the command counts as cancelled.
func Cancelled(format string, args ...any) error {
	return &cancelledError{fmt.Sprintf(format, args...)}
}

// underway is a running command.
type underway struct {
	end      context.CancelCauseFunc
	acting   bool   // not one of the harmless kinds
	reported uint32 // sequence of its last report; guarded by the agent's mu
}

// returnGrace is how long a handler may take to return after its context has ended.
const returnGrace = 5 * time.Second

// begin starts a remembered command; a.mu is held.
func (a *Agent) begin(ctx context.Context, c *schema.Command, v verdict, now schema.Instant, log *slog.Logger) {
	guard := a.gate.guardOf(c)
	guard.Begin(c.ID, int64(now))
	ctx, cancel := context.WithCancelCause(ctx)
	a.running[c.ID] = &underway{end: cancel, acting: guard == a.gate.acting}
	a.metrics.running.Inc()
	a.metrics.remembered.Set(float64(len(a.gate.memory.index)))
	log.Info("command: started", "dry_run", c.DryRun)
	if guard == a.gate.acting {
		a.wg.Go(func() { a.watchKafka(ctx, cancel) })
	}
	a.wg.Go(func() {
		started := time.Now()
		result := a.carryOut(ctx, c, v, guard)
		cancel(nil)
		elapsed := time.Since(started)
		a.metrics.runSeconds.Observe(elapsed.Seconds())
		a.metrics.running.Dec()
		log.Info("command: ended", "status", result.Status, "reason", result.Reason, "took", elapsed)
		a.mu.Lock()
		delete(a.running, c.ID)
		a.noteMemory(a.gate.memory.finish(result))
		a.mu.Unlock()
		a.send(result)
	})
}

// carryOut runs a command to its end and returns the answer.
func (a *Agent) carryOut(ctx context.Context, c *schema.Command, v verdict, guard *safety.Guard) *schema.CommandResult {
	if v.drained {
		if no := a.inUse(ctx); no != nil {
			a.count(no.Reason)
			a.endIn(guard, c.ID)
			return a.result(c.ID, c.Kind, schema.CommandRefused, no.Detail)
		}
	}
	if guard == a.gate.acting {
		a.send(a.result(c.ID, c.Kind, schema.CommandAccepted, ""))
	}
	output, err := a.execute(ctx, c, guard, v.runTime)
	if err != nil {
		status := schema.CommandFailed
		if _, ok := errors.AsType[*cancelledError](err); ok {
			status = schema.CommandCancelled
		}
		result := a.result(c.ID, c.Kind, status, err.Error())
		if len(output) <= MaxOutputBytes && json.Valid(output) {
			result.Output = output
		}
		return result
	}
	if len(output) > MaxOutputBytes || len(output) > 0 && !json.Valid(output) {
		return a.result(c.ID, c.Kind, schema.CommandFailed, fmt.Sprintf("carried out, but its output of %d bytes is not JSON of at most %d bytes", len(output), MaxOutputBytes))
	}
	result := a.result(c.ID, c.Kind, schema.CommandDone, "")
	result.Output = output
	return result
}

// inUse checks that the host is drained, as required by the rule that allows the command.
func (a *Agent) inUse(ctx context.Context) *safety.Refusal {
	if a.deps.Host == nil {
		return safety.Refuse(safety.NotDrained, "the rule in command.allow of %s requires a drained host, and nothing there tells whether it is drained", a.id.Name)
	}
	const patience = 10 * time.Second // then the command is refused: not known is not drained
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	drained, detail, err := a.deps.Host.Drained(ctx)
	if err != nil {
		return safety.Refuse(safety.NotDrained, "whether %s is drained is not known: %v", a.id.Name, err)
	}
	if !drained {
		return safety.Refuse(safety.NotDrained, "%s is in use: %s", a.id.Name, detail)
	}
	return nil
}

// outcome is what a handler returned.
type outcome struct {
	output json.RawMessage
	err    error
}

// execute calls the handler in a goroutine that can be abandoned: a handler that does not return costs its command
// and, since it may still act, its slot in the limits until it returns.
func (a *Agent) execute(ctx context.Context, c *schema.Command, guard *safety.Guard, limit time.Duration) (json.RawMessage, error) {
	running, stop := context.WithTimeoutCause(ctx, limit, errRunTime)
	defer stop()
	ended, leftBehind := make(chan outcome), make(chan struct{})
	go func() {
		o := a.call(running, c)
		a.endIn(guard, c.ID)
		select {
		case ended <- o:
		case <-leftBehind:
			a.metrics.stuck.Dec()
		}
	}()
	o, returned := awaitReturn(running, ended)
	if !returned {
		a.metrics.stuck.Inc()
		close(leftBehind)
		a.log.Error("command: handler does not return, abandoned", "command", c.ID, "kind", c.Kind)
		return nil, fmt.Errorf("%w, and does not return: it is abandoned and may still act", a.causeOf(running, limit))
	}
	if running.Err() != nil && (o.err != nil || a.partial(c)) {
		if !a.partial(c) {
			o.output = nil
		}
		return o.output, a.causeOf(running, limit)
	}
	return o.output, o.err
}

func awaitReturn(ctx context.Context, ended <-chan outcome) (o outcome, returned bool) {
	select {
	case o = <-ended:
		return o, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(returnGrace)
	defer timer.Stop()
	select {
	case o = <-ended:
		return o, true
	case <-timer.C:
		return o, false
	}
}

func (a *Agent) causeOf(ctx context.Context, limit time.Duration) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errRunTime):
		return fmt.Errorf("%w, %v", errRunTime, limit)
	case errors.Is(cause, context.Canceled):
		return errStopped
	}
	return cause
}

// call runs the handler and converts a panic to an error.
func (a *Agent) call(ctx context.Context, c *schema.Command) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			a.metrics.panics.Inc()
			a.log.Error("command: handler panicked", "command", c.ID, "kind", c.Kind, "panic", p, "stack", string(debug.Stack()))
			o = outcome{err: fmt.Errorf("its handler panicked: %v", p)}
		}
	}()
	handler := a.kinds[c.Kind]
	if c.DryRun {
		o.output, o.err = handler.DryRun(ctx, c.Arguments)
	} else {
		o.output, o.err = handler.Run(ctx, Call{ID: c.ID, Principal: c.Principal, Arguments: c.Arguments,
			Report: func(output json.RawMessage) { a.report(ctx, c, output) }})
	}
	return o
}

func (a *Agent) endIn(guard *safety.Guard, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	guard.End(id)
}

// CancelArguments are the arguments of the kind cancel.
type CancelArguments struct {
	ID string `json:"id"` // of the command to stop
}

// cancel ends the context of a command running here, and answers. It takes no slot and, as it may be carried out twice, no
// record: neither other commands nor a full disk may prevent it. a.mu is held.
func (a *Agent) cancel(ctx context.Context, c *schema.Command, now schema.Instant, log *slog.Logger) {
	result := a.result(c.ID, c.Kind, schema.CommandDone, "")
	var arguments CancelArguments
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil || arguments.ID == "" {
		result.Status, result.Reason = schema.CommandFailed, `arguments: want {"id": ...}, the id of the command to stop`
	} else {
		runs := a.running[arguments.ID]
		if runs != nil && !c.DryRun {
			runs.end(Cancelled("cancelled by %s", c.Principal))
		}
		result.Output = fmt.Appendf(nil, `{"running":%t}`, runs != nil)
	}
	log.InfoContext(ctx, "command: ended", "status", result.Status, "reason", result.Reason, "cancels", arguments.ID)
	a.answer(result, c.Expires, now)
}

// stopAll ends the contexts of all commands after the source has returned by itself.
func (a *Agent) stopAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.running {
		c.end(errStopped)
	}
}

// partial reports whether the output of a stopped handler counts.
func (a *Agent) partial(c *schema.Command) bool {
	_, is := a.kinds[c.Kind].(Partial)
	return is && !c.DryRun
}

// report sends progress of a running command.
func (a *Agent) report(ctx context.Context, c *schema.Command, output json.RawMessage) {
	a.mu.Lock()
	runs := a.running[c.ID]
	if runs == nil || ctx.Err() != nil { // its answer is being sent
		a.mu.Unlock()
		return
	}
	runs.reported++
	sequence := runs.reported
	a.mu.Unlock()
	if len(output) > MaxOutputBytes || !json.Valid(output) {
		a.metrics.answersDropped.WithLabelValues(dropOversized).Inc()
		return
	}
	result := a.result(c.ID, c.Kind, schema.CommandProgress, "")
	result.Sequence, result.Output = sequence, output
	a.send(result)
}

// Reachable is a Source that knows since when Kafka has not answered: now if no answer is outstanding.
type Reachable interface{ Answered() time.Time }

// watchKafka ends an acting command once Kafka has been silent for so long that a cancellation could not have arrived.
func (a *Agent) watchKafka(ctx context.Context, cancel context.CancelCauseFunc) {
	source, knows := a.deps.Source.(Reachable)
	if !knows {
		return
	}
	const perLimit = 4 // checks within the limit: a command ends at most a quarter too late
	ticker := time.NewTicker(a.cfg.StopWithoutKafka / perLimit)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if time.Since(source.Answered()) >= a.cfg.StopWithoutKafka {
				cancel(errNoKafka)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// lost ends all acting commands, since Kafka accepts no results.
func (a *Agent) lost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.running {
		if c.acting {
			c.end(errNoKafka)
		}
	}
}

// openAnswers creates the queue for one Run.
func (a *Agent) openAnswers() <-chan *schema.CommandResult {
	a.sending.Lock()
	defer a.sending.Unlock()
	a.answers = make(chan *schema.CommandResult, maxQueuedAnswers)
	return a.answers
}

// closeAnswers closes the queue; an abandoned handler may still report.
func (a *Agent) closeAnswers() {
	a.sending.Lock()
	defer a.sending.Unlock()
	close(a.answers)
	a.answers = nil
}

// send queues an answer. If the queue is full, the answer stays in the memory and is sent after a restart.
func (a *Agent) send(result *schema.CommandResult) {
	a.sending.Lock()
	defer a.sending.Unlock()
	select {
	case a.answers <- result: // never chosen if there is no queue
		return
	default:
	}
	a.metrics.answersDropped.WithLabelValues(dropUndelivered).Inc()
}

// sendAll sends answers to Kafka one by one until the queue is closed, or ctx ends. Final answers wait for the end of an outage,
// others are dropped.
func (a *Agent) sendAll(ctx context.Context, answers <-chan *schema.CommandResult) {
	for r := range answers {
		err := a.publish(ctx, r)
		for r.Status.Final() && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			a.log.Warn("command: answer not sent, retrying", "command", r.CommandID, "status", r.Status, "error", err)
			a.lost()
			err = a.publish(ctx, r)
		}
		if err != nil {
			a.metrics.answersDropped.WithLabelValues(dropUndelivered).Inc()
			a.log.Error("command: answer not sent", "command", r.CommandID, "status", r.Status, "error", err)
			a.lost()
		} else {
			a.metrics.answered.WithLabelValues(string(r.Status)).Inc()
		}
		if r.Status.Final() && ctx.Err() == nil { // Kafka has it, or never will
			a.mu.Lock()
			a.gate.memory.answered(r.CommandID)
			a.mu.Unlock()
		}
	}
}

func (a *Agent) publish(ctx context.Context, r *schema.CommandResult) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StopWithoutKafka)
	defer cancel()
	return a.deps.Results.Publish(ctx, a.id.Partition, r)
}

// shorten truncates a text to at most n bytes of UTF-8.
func shorten(text string, n int) string {
	if len(text) > n {
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
}
