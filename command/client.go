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

// Order is what a client is to send.
type Order struct {
	Kind      string
	Targets   []string // patterns of agents' names
	Arguments json.RawMessage
	DryRun    bool
	// ValidFor is how long agents may begin with it; an agent refuses more than its command.max_validity.
	ValidFor time.Duration
}

// TailSource is a Source that begins at the end of the log and says once it has got there.
type TailSource interface {
	Source
	ReadUpTo() time.Time // 1970 before that
}

// Client gives commands to the agents of one fabric.
type Client struct {
	signer    *Signer
	fabric    string
	partition int
	deps      ClientDeps
}

// ClientDeps are what a client works with. All are required.
type ClientDeps struct {
	Sink     Sink              // takes the commands
	Results  func() TailSource // makes a reader of the fabric's results for each command
	Verifier *Verifier         // of results
	Log      *slog.Logger      // of refused results
	Now      func() time.Time
}

// NewClient makes a client.
func NewClient(signer *Signer, fabric string, partition int, deps ClientDeps) *Client {
	return &Client{signer, fabric, partition, deps}
}

// New makes and signs a command.
func (c *Client) New(o Order) (schema.Command, error) {
	now := c.deps.Now()
	command := schema.Command{ID: rand.Text(), Fabric: c.fabric, Kind: o.Kind, Targets: o.Targets, Arguments: o.Arguments, Issued: schema.Instant(now.UnixNano()),
		Expires: schema.Instant(now.Add(o.ValidFor).UnixNano()), DryRun: o.DryRun}
	if err := c.signer.Sign(&command); err != nil {
		return command, err
	}
	return command, Check(&command)
}

// Send puts a command into Kafka.
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

// Answer is a result with when it came, by the client's clock.
type Answer struct {
	schema.CommandResult
	Sent, Received schema.Instant
}

// ClockOffset estimates how far the agent's clock is ahead of the client's: the answer was made between Sent
// and Received, at the middle but for the uncertainty.
func (a *Answer) ClockOffset() (offset, uncertainty time.Duration) {
	half := (a.Received - a.Sent) / 2
	return time.Duration(a.Time - (a.Sent + half)), time.Duration(half)
}

// Ask sends a command and gathers the last word of each agent, in order of their names, for wait or, if expect
// is more than 0, until that many agents have said theirs. It listens before it sends. That fewer answer is no
// error.
func (c *Client) Ask(ctx context.Context, command *schema.Command, wait time.Duration, expect int) ([]Answer, error) {
	return c.gather(ctx, command, wait, expect, func(r *schema.CommandResult) bool { return r.Status.Final() })
}

// AskUntil is Ask that ends with the first answer that is enough, and at the latest after wait.
func (c *Client) AskUntil(ctx context.Context, command *schema.Command, wait time.Duration, enough func(*schema.CommandResult) bool) ([]Answer, error) {
	return c.gather(ctx, command, wait, 1, enough)
}

// Begin is Ask that waits until agents have begun or said why not, whichever is first.
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
	go func() { ended <- source.Run(reading, g.take) }()
	if err := awaitEnd(reading, source, ended); err != nil {
		return nil, err
	}
	g.setSent(schema.Instant(c.deps.Now().UnixNano()))
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

// listenPatience is how long Kafka may take until it has shown the end of the log.
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
			return fmt.Errorf("listen for answers: no answer of Kafka for %v; are kafka.brokers those of a cluster that runs, and does it let this user read the results?", listenPatience)
		case err := <-ended:
			return fmt.Errorf("listen for answers: %w", cmp.Or(err, ctx.Err(), errReaderEnded))
		}
	}
	return nil
}
