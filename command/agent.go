package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// Source delivers messages in order until ctx ends.
type Source interface {
	Run(ctx context.Context, handle func(context.Context, kafka.Message) error) error
}

// Sink accepts records and returns once they are durable.
type Sink interface {
	Produce(ctx context.Context, r kafka.Record) error
}

// Handler executes one kind of command. It should return soon after ctx ends: at the limit of run time, when the
// command is cancelled, when Kafka is lost or when the agent stops. The cause of ctx says which.
type Handler interface {
	Kind() string
	// DryRun reports what Run would do, without doing it.
	DryRun(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)
	Run(ctx context.Context, c Call) (json.RawMessage, error)
}

// ArgumentChecker is a Handler that validates arguments before a command begins. Its refusals are counted, answered and
// audited like those of the allow-list. It answers at once and changes nothing.
type ArgumentChecker interface {
	CheckArguments(arguments json.RawMessage) *safety.Refusal
}

// Partial is a Handler whose output counts even if it was stopped: the answer has both output and reason.
type Partial interface{ PartialOutput() }

// Call is a command as passed to its handler.
type Call struct {
	ID, Principal string
	Arguments     json.RawMessage
	// Report sends the output so far, before the final answer. It does not block: if Kafka falls behind, reports are
	// dropped and counted. It may be called from any goroutine.
	Report func(output json.RawMessage)
}

// Host reports whether this host is out of use, so that disruptive commands may run.
type Host interface {
	Drained(ctx context.Context) (drained bool, detail string, err error)
}

// Identity identifies an agent.
type Identity struct {
	Name      string // of the agent
	Fabric    string
	Partition int // of the fabric
}

// Deps are an agent's dependencies.
type Deps struct {
	Source     Source // the fabric's commands: a tail that starts Config.Lookback in the past; see Reachable
	Results    Publisher
	Handlers   []Handler
	Host       Host   // nil: it is unknown whether the host is drained
	StatePath  string // of the file that remembers executed commands
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Lookback is how far back an agent reads when it starts: over everything that may still be valid.
func (c *Config) Lookback() time.Duration { return c.MaxValidity + c.ClockTolerance }

// Agent executes the commands of a fabric that target it.
type Agent struct {
	id      Identity
	cfg     Config
	deps    Deps
	log     *slog.Logger
	metrics *metrics
	kinds   map[string]Handler

	wg sync.WaitGroup // running commands

	sending sync.Mutex                 // guards answers
	answers chan *schema.CommandResult // nil: no answers are accepted

	mu      sync.Mutex
	gate    gate                 // guarded by mu, with its memory and guards
	running map[string]*underway // guarded by mu
	dubious *safety.Guard        // guarded by mu; rate-limits answers to commands that are not remembered
}

// maxQueuedAnswers is how many answers may wait for Kafka. Further ones are not lost: those of remembered commands
// are sent after a restart.
const maxQueuedAnswers = 1024

// dubiousPerHour bounds the answers to commands that are not authentic or not fresh, so that a writer to the command
// topic cannot make a thousand agents flood the result topic.
const dubiousPerHour = 120

// NewAgent returns an agent; Run starts it.
func NewAgent(cfg Config, id Identity, deps Deps) (*Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if !cfg.Enabled() {
		return nil, errors.New("command: principals: empty; without them an agent accepts no command")
	}
	if !isName(id.Name) || !isName(id.Fabric) {
		return nil, fmt.Errorf("command: agent %q of fabric %q: want names of 1 to %d bytes", id.Name, id.Fabric, maxNameBytes)
	}
	keys, err := NewKeyring(cfg.Principals)
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	a := &Agent{id: id, cfg: cfg, deps: deps, kinds: map[string]Handler{},
		log: deps.Log.With("fabric", id.Fabric), running: map[string]*underway{},
		dubious: safety.NewQuota(safety.Limits{AtATime: 1, PerHour: dubiousPerHour})}
	for _, h := range deps.Handlers {
		if a.kinds[h.Kind()] != nil || h.Kind() == KindCancel || !word.MatchString(h.Kind()) {
			return nil, fmt.Errorf("command: kind %q has two handlers, or no name that a kind may have", h.Kind())
		}
		a.kinds[h.Kind()] = h
	}
	a.gate = gate{agent: id.Name, fabric: id.Fabric, keys: keys, tolerance: cfg.ClockTolerance, maxValidity: cfg.MaxValidity,
		known: func(kind string) bool { return kind == KindCancel || a.kinds[kind] != nil }, judgeArguments: a.judgeArguments,
		acting: safety.New(cfg.Config), harmless: safety.NewQuota(harmlessLimits)}
	if a.metrics, err = newMetrics(deps.Registerer); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	return a, nil
}

// Run executes commands until ctx ends. Then it stops running ones, and gives the answers some time to be sent. It
// may be called again after an error.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.remember(); err != nil {
		return err
	}
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	sent, answers := make(chan struct{}), a.openAnswers()
	go func() {
		defer close(sent)
		a.sendAll(sending, answers)
	}()
	a.answerLeftovers()
	err := a.deps.Source.Run(ctx, func(_ context.Context, m kafka.Message) error { a.take(ctx, m); return nil })
	if err != nil {
		err = fmt.Errorf("command: %w", err)
	}
	a.stopAll()
	a.wg.Wait() // each is abandoned after its grace period
	a.closeAnswers()
	flush := time.AfterFunc(flushTimeout, giveUp)
	defer flush.Stop()
	<-sent
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noteMemory(a.gate.memory.save()) // which answers have been sent
	return err
}

// flushTimeout bounds how long answers are still sent after the stop.
const flushTimeout = 5 * time.Second

// remember reads the file of executed commands, unless an earlier Run has.
func (a *Agent) remember() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gate.memory != nil {
		return nil
	}
	now := a.now()
	memory, damaged, err := openMemory(a.deps.StatePath, a.cfg.Lookback()+a.cfg.ClockTolerance, now)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if damaged != nil {
		a.metrics.memoryErrors.Inc()
		a.log.Error("command: command record is damaged, moved aside; commands issued before now are refused", "path", a.deps.StatePath, "error", damaged)
	}
	a.gate.memory = memory
	for _, c := range memory.content.Commands {
		if c.Started > 0 {
			a.gate.acting.Began(int64(c.Started))
		}
	}
	a.metrics.remembered.Set(float64(len(memory.index)))
	return nil
}

// answerLeftovers answers commands left unanswered by an earlier process of this agent.
func (a *Agent) answerLeftovers() {
	a.mu.Lock()
	var left []*schema.CommandResult
	for _, c := range a.gate.memory.content.Commands {
		if c.Running {
			result := a.result(c.ID, c.Kind, schema.CommandFailed, "agent restarted while the command ran, or before it began")
			a.noteMemory(a.gate.memory.finish(result))
		}
		if c.Answer != nil {
			left = append(left, c.Answer)
		}
	}
	a.mu.Unlock()
	for _, result := range left {
		a.send(result)
	}
}

func (a *Agent) now() schema.Instant { return schema.InstantOf(a.deps.Now()) }

// take processes the commands of a message. Unreadable messages are only counted; the audit moves them to the dead
// letters, once for all agents.
func (a *Agent) take(ctx context.Context, m kafka.Message) {
	var decoder envelope.Decoder
	commands, err := decoder.Commands(m.Payload, nil)
	if err != nil {
		a.metrics.received.Inc()
		a.count(Malformed)
		a.log.Warn("command: message refused", "reason", Malformed, "offset", m.Offset, "error", err)
		return
	}
	for i := range commands {
		a.metrics.received.Inc()
		if err := Check(&commands[i]); err != nil {
			a.count(Malformed)
			a.log.Warn("command: command refused", "reason", Malformed, "offset", m.Offset, "error", err)
			continue
		}
		a.consider(ctx, &commands[i])
	}
}

func (a *Agent) count(reason safety.Reason) { a.metrics.refused.WithLabelValues(string(reason)).Inc() }

// consider checks one command, and begins it or answers why not.
func (a *Agent) consider(ctx context.Context, c *schema.Command) {
	log := a.log.With("command", c.ID, "principal", c.Principal, "kind", c.Kind)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	v := a.gate.check(c, now)
	if v.refusal == nil && c.Kind == KindCancel {
		a.cancel(ctx, c, now, log)
		return
	}
	if v.refusal == nil {
		entry := remembered{ID: c.ID, Kind: c.Kind, Expires: c.Expires, Running: true}
		if a.gate.guardOf(c) == a.gate.acting {
			entry.Started = now
		}
		err := a.gate.memory.add(entry, now)
		if err == nil {
			a.begin(ctx, c, v, now, log)
			return
		}
		a.noteMemory(err)
		v = refuse(NoMemory, "%s cannot record the command and might carry it out twice: %v", a.id.Name, err)
	}
	a.count(v.refusal.Reason)
	level := slog.LevelWarn
	if v.silent {
		level = slog.LevelDebug
	}
	log.Log(ctx, level, "command: command refused", "reason", v.refusal.Reason, "detail", v.refusal.Detail)
	if v.silent {
		return
	}
	result := a.result(c.ID, c.Kind, v.status, v.refusal.Detail)
	if v.authentic {
		a.answer(result, c.Expires, now)
	} else {
		a.answerUnrecorded(result, now)
	}
}

// answer records and sends the answer to an authentic command that has not begun; a.mu is held.
func (a *Agent) answer(result *schema.CommandResult, expires, now schema.Instant) {
	err := a.gate.memory.add(remembered{ID: result.CommandID, Kind: result.Kind, Expires: expires, Answer: result}, now)
	a.noteMemory(err)
	if err != nil {
		a.answerUnrecorded(result, now)
		return
	}
	a.send(result)
}

// answerUnrecorded sends an answer unless too many to unrecorded commands, which anyone may repeat, were sent within the hour.
func (a *Agent) answerUnrecorded(result *schema.CommandResult, now schema.Instant) {
	if !a.mayAnswer(now) {
		a.metrics.answersDropped.WithLabelValues(dropRate).Inc()
		return
	}
	a.send(result)
}

// mayAnswer reports whether a command that is not remembered may still get an answer.
func (a *Agent) mayAnswer(now schema.Instant) bool {
	if a.dubious.Room(int64(now)) != nil {
		return false
	}
	a.dubious.Began(int64(now))
	return true
}

func (a *Agent) noteMemory(err error) {
	a.metrics.remembered.Set(float64(len(a.gate.memory.index)))
	if err != nil {
		a.metrics.memoryErrors.Inc()
		a.log.Error("command: command record cannot be written; commands other than cancel are refused until it can", "path", a.deps.StatePath, "error", err)
	}
}

// judgeArguments asks the kind's handler to check the arguments.
func (a *Agent) judgeArguments(c *schema.Command) *safety.Refusal {
	if checker, ok := a.kinds[c.Kind].(ArgumentChecker); ok {
		return checker.CheckArguments(c.Arguments)
	}
	return nil
}

func (a *Agent) result(id, kind string, status schema.CommandStatus, reason string) *schema.CommandResult {
	const maxReasonBytes = 1 << 10 // a reason is for people, and may repeat an error of any length
	return &schema.CommandResult{CommandID: id, Fabric: a.id.Fabric, Agent: a.id.Name, Time: a.now(), Status: status, Kind: kind, Reason: shorten(reason, maxReasonBytes)}
}
