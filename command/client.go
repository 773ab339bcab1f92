package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// Order is a command to be sent by a client.
type Order struct {
	Kind      string
	Targets   []string // patterns of agent names
	Arguments json.RawMessage
	DryRun    bool
	// ValidFor is how long agents may begin it; agents refuse more than their command.max_validity.
	ValidFor time.Duration
}

// TailSource is a Source that starts at the end of the log and reports when it has got there.
type TailSource interface {
	Source
	ReadUpTo() time.Time // 1970 before that
}

// Client sends commands to the agents of one fabric.
type Client struct {
	signer    *Signer
	fabric    string
	partition int
	deps      ClientDeps
}

// ClientDeps are a client's dependencies. All are required.
type ClientDeps struct {
	Sink     Sink              // for the commands
	Results  func() TailSource // creates a reader of the fabric's results for each command
	Verifier *Verifier         // of results
	Log      *slog.Logger      // for refused results
	Now      func() time.Time
}

// NewClient returns a client.
func NewClient(signer *Signer, fabric string, partition int, deps ClientDeps) *Client {
	return &Client{signer, fabric, partition, deps}
}

// New creates and signs a command.
func (c *Client) New(o Order) (schema.Command, error) {
	now := c.deps.Now()
	command := schema.Command{ID: rand.Text(), Fabric: c.fabric, Kind: o.Kind, Targets: o.Targets, Arguments: o.Arguments, Issued: schema.InstantOf(now),
		Expires: schema.InstantOf(now.Add(o.ValidFor)), DryRun: o.DryRun}
	if err := c.signer.Sign(&command); err != nil {
		return command, err
	}
	return command, Check(&command)
}

// Send sends a command to Kafka.
func (c *Client) Send(ctx context.Context, command *schema.Command) error {
	var encoder envelope.Encoder
	payload, err := encoder.Commands(nil, []schema.Command{*command})
	if err != nil {
		return err
	}
	if err := c.deps.Sink.Produce(ctx, kafka.Record{Fabric: c.fabric, Partition: c.partition, Kind: envelope.Commands, Payload: payload}); err != nil {
		return fmt.Errorf("send command %s: %w", command.ID, err)
	}
	return nil
}

// Answer is a result with its times by the client's clock.
type Answer struct {
	schema.CommandResult
	Sent, Received schema.Instant
}

// ClockOffset estimates how far the agent's clock is ahead of the client's: the answer was made between Sent and
// Received, in the middle up to the uncertainty.
func (a *Answer) ClockOffset() (offset, uncertainty time.Duration) {
	half := (a.Received - a.Sent) / 2
	return time.Duration(a.Time - (a.Sent + half)), time.Duration(half)
}

// Ask sends a command and collects the final result of each agent, sorted by name, for wait or, if expect is
// positive, until that many agents have sent theirs. It starts listening before it sends. Fewer answers are not an
// error.
func (c *Client) Ask(ctx context.Context, command *schema.Command, wait time.Duration, expect int) ([]Answer, error) {
	return c.gather(ctx, command, wait, expect, func(r *schema.CommandResult) bool { return r.Status.Final() })
}

// AskUntil is like Ask, but returns at the first answer for which enough is true, at the latest after wait.
func (c *Client) AskUntil(ctx context.Context, command *schema.Command, wait time.Duration, enough func(*schema.CommandResult) bool) ([]Answer, error) {
	return c.gather(ctx, command, wait, 1, enough)
}

// Begin is like Ask, but only waits until agents have begun or refused.
func (c *Client) Begin(ctx context.Context, command *schema.Command, wait time.Duration, expect int) ([]Answer, error) {
	return c.gather(ctx, command, wait, expect, func(r *schema.CommandResult) bool { return r.Status.Valid() })
}

// gather sends a command and collects results until expect agents have each sent one that is enough, for wait at most.
func (c *Client) gather(ctx context.Context, command *schema.Command, wait time.Duration, expect int, enough func(*schema.CommandResult) bool) ([]Answer, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	g := &gathering{enough: enough, heard: map[string]bool{}, id: command.ID, fabric: c.fabric, now: c.deps.Now,
		verifier: c.deps.Verifier, log: c.deps.Log, expect: expect, last: map[string]Answer{}, complete: stop}
	source := c.deps.Results()
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- source.Run(reading, g.take)
	}()
	if err := awaitEnd(reading, source, ended); err != nil {
		stop()
		<-ended
		return nil, err
	}
	g.setSent(schema.InstantOf(c.deps.Now()))
	if err := c.Send(ctx, command); err != nil {
		stop()
		return nil, errors.Join(err, <-ended)
	}
	timer := time.AfterFunc(wait, stop)
	defer timer.Stop()
	if err := <-ended; err != nil {
		return nil, fmt.Errorf("gather the answers to command %s: %w", command.ID, err)
	}
	return g.answers(), ctx.Err()
}

var errReaderEnded = errors.New("the reader ended by itself")

// listenPatience is how long Kafka may take to deliver the end of the log.
const listenPatience = 20 * time.Second

// awaitEnd waits until the source has reached the end of the log.
func awaitEnd(ctx context.Context, source TailSource, ended chan error) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	patience := time.NewTimer(listenPatience)
	defer patience.Stop()
	for source.ReadUpTo().UnixNano() <= 0 {
		select {
		case <-ticker.C:
		case <-patience.C:
			return fmt.Errorf("listen for answers: no answer from Kafka for %v; check that kafka.brokers are running and let this user read the results", listenPatience)
		case err := <-ended:
			return fmt.Errorf("listen for answers: %w", cmp.Or(err, ctx.Err(), errReaderEnded))
		}
	}
	return nil
}
