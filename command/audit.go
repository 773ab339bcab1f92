package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// CommittedSource is a Source that persists how far its messages were processed.
type CommittedSource interface {
	Source
	CommitThrough(ctx context.Context, offset int64) error
}

// Records stores the audit, each command and each result once. It retries until ctx ends.
type Records interface {
	StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error
	StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error
}

// Auditor writes every command and every result of a fabric to the store. A message is committed once its content is
// stored; unreadable ones go to the dead letters.
type Auditor struct {
	fabric string
	deps   AuditDeps
}

// AuditMetrics are shared by the auditors of a process.
type AuditMetrics struct {
	stored     *prometheus.CounterVec // fabric, kind
	refused    *prometheus.CounterVec // fabric, reason; results
	unverified *prometheus.CounterVec // fabric; results
}

// NewAuditMetrics registers the metrics.
func NewAuditMetrics(reg prometheus.Registerer) (*AuditMetrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_command_" + name, Help: help}, labels)
	}
	m := &AuditMetrics{
		stored:     counter("audited_total", "Commands and results of agents written to the audit.", "fabric", "kind"),
		refused:    counter("results_refused_total", "Results refused because of their signature, and put into the dead letters.", "fabric", "reason"),
		unverified: counter("results_unverified_total", "Results accepted without a verified signature, because no key of the agent is configured.", "fabric"),
	}
	if err := errors.Join(reg.Register(m.stored), reg.Register(m.refused), reg.Register(m.unverified)); err != nil {
		return nil, fmt.Errorf("command audit: %w", err)
	}
	return m, nil
}

// AuditDeps are an auditor's dependencies. All are required.
type AuditDeps struct {
	Commands, Results CommittedSource
	Records           Records
	Keys              Keyring   // of principals; if empty, signatures of commands are not checked
	Verifier          *Verifier // of results
	Log               *slog.Logger
	Metrics           *AuditMetrics
}

// NewAuditor returns the auditor of a fabric.
func NewAuditor(fabric string, deps AuditDeps) *Auditor {
	metrics := deps.Metrics
	for _, reason := range ResultReasons() {
		metrics.refused.WithLabelValues(fabric, string(reason))
	}
	metrics.unverified.WithLabelValues(fabric)
	for _, kind := range []envelope.Kind{envelope.Commands, envelope.Results} {
		metrics.stored.WithLabelValues(fabric, kind.String())
	}
	deps.Log = deps.Log.With("fabric", fabric)
	return &Auditor{fabric, deps}
}

// Run audits until ctx ends.
func (a *Auditor) Run(ctx context.Context) error {
	commands := &batches[schema.SeenCommand]{source: a.deps.Commands, decode: a.decodeCommands, stored: a.deps.Metrics.stored.WithLabelValues(a.fabric, envelope.Commands.String()),
		store: func(ctx context.Context, rows []schema.SeenCommand) error {
			return a.deps.Records.StoreCommands(ctx, a.fabric, rows)
		}}
	results := &batches[schema.CommandResult]{source: a.deps.Results, decode: a.decodeResults, stored: a.deps.Metrics.stored.WithLabelValues(a.fabric, envelope.Results.String()),
		store: func(ctx context.Context, rows []schema.CommandResult) error {
			return a.deps.Records.StoreCommandResults(ctx, a.fabric, rows)
		}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return commands.run(ctx) })
	group.Go(func() error { return results.run(ctx) })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("command audit: %w", err)
	}
	return nil
}

// decodeCommands decodes the commands of a message, including forged ones, which an audit must show. Beside one that is
// rejected, as agents do, it takes the others: an audit must show what agents have carried out. The error is the first one's.
func (a *Auditor) decodeCommands(m kafka.Message) (rows []schema.SeenCommand, err error) {
	var decoder envelope.Decoder
	commands, err := decoder.Commands(m.Payload, nil)
	if err != nil {
		return nil, err
	}
	var rejected error
	for _, c := range commands {
		err := Check(&c)
		if err == nil && c.Fabric != a.fabric {
			err = fmt.Errorf("command %s of fabric %q in the partition of %q", c.ID, c.Fabric, a.fabric)
		}
		if err != nil {
			rejected = cmp.Or(rejected, err)
			continue
		}
		rows = append(rows, schema.SeenCommand{Command: c, Seen: schema.InstantOf(m.Time), Verified: a.verified(&c)})
	}
	return rows, rejection(rejected)
}

func (a *Auditor) verified(c *schema.Command) string {
	if len(a.deps.Keys) == 0 {
		return schema.NotVerified
	}
	if no := a.deps.Keys.Verify(c); no != nil {
		a.deps.Log.Warn("command: a command in the topic is not authentic", "command", c.ID, "principal", c.Principal, "reason", no.Reason)
		return string(no.Reason)
	}
	return schema.Verified
}

func (a *Auditor) decodeResults(m kafka.Message) (rows []schema.CommandResult, err error) {
	var decoder envelope.Decoder
	results, err := decoder.Results(m.Payload, nil)
	if err != nil {
		return nil, err
	}
	var rejected error
	for _, r := range results {
		err := checkResult(&r)
		if err == nil && r.Fabric != a.fabric {
			err = fmt.Errorf("result of command %s, fabric %q, in the partition of %q", r.CommandID, r.Fabric, a.fabric)
		}
		if err == nil {
			err = a.verify(&r)
		}
		if err != nil {
			rejected = cmp.Or(rejected, err)
			continue
		}
		rows = append(rows, r)
	}
	return rows, rejection(rejected)
}

// rejection makes the consumer put the message into the dead letters; nil: it need not.
func rejection(err error) error {
	if err == nil {
		return nil
	}
	return &kafka.Rejection{Err: err}
}

// verify sets whether a result's signature was checked; an error if the result is refused because of it. Such a result
// is not stored, not even as refused: it would replace the genuine one with the same key.
func (a *Auditor) verify(r *schema.CommandResult) error {
	verified, no := a.deps.Verifier.Verify(r)
	if no != nil {
		a.deps.Metrics.refused.WithLabelValues(a.fabric, string(no.Reason)).Inc()
		return fmt.Errorf("result of command %s: %s: %s", r.CommandID, no.Reason, no.Detail)
	}
	r.Verified = schema.Verified
	if !verified {
		r.Verified = schema.NotVerified
		a.deps.Metrics.unverified.WithLabelValues(a.fabric).Inc()
	}
	return nil
}

// batches collects the rows of many small messages into few inserts.
type batches[T any] struct {
	source CommittedSource
	decode func(kafka.Message) ([]T, error)
	store  func(context.Context, []T) error
	stored prometheus.Counter

	mu     sync.Mutex // held while rows are stored, so that they are committed in order
	rows   []T        // guarded by mu
	offset int64      // guarded by mu; of the last message in rows
}

// A batch is stored when it reaches this age or size.
const (
	batchAge  = time.Second
	batchRows = 2000
)

func (b *batches[T]) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.source.Run(ctx, b.take) })
	group.Go(func() error {
		ticker := time.NewTicker(batchAge)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := b.flush(ctx); err != nil {
					return endOf(ctx, err)
				}
			case <-ctx.Done():
				return nil // uncommitted messages are read again
			}
		}
	})
	return group.Wait()
}

// endOf returns nil if ctx was cancelled, otherwise err.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (b *batches[T]) take(ctx context.Context, m kafka.Message) error {
	rows, err := b.decode(m)
	b.mu.Lock()
	b.rows = append(b.rows, rows...)
	if err == nil { // else the consumer commits it, as a dead letter
		b.offset = m.Offset
	}
	full := len(b.rows) >= batchRows
	b.mu.Unlock()
	if err != nil || !full {
		return err
	}
	return b.flush(ctx)
}

// flush stores the collected rows and commits their messages.
func (b *batches[T]) flush(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rows) == 0 {
		return nil
	}
	if err := b.store(ctx, b.rows); err != nil {
		return err
	}
	b.stored.Add(float64(len(b.rows)))
	clear(b.rows)
	b.rows = b.rows[:0]
	return b.source.CommitThrough(ctx, b.offset)
}
