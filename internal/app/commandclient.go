package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/schema"
)

// reach is how long a command waits for a connection to Kafka, in addition to the wait for answers.
const reach = 30 * time.Second

// AskAgents sends a command to the agents of a fabric, or of the only one, and collects their answers while it is valid, or
// until expect agents have answered or, if it is not nil, enough returns true. No answer is an error.
func (p *Process) AskAgents(ctx context.Context, fabric string, o command.Order, expect int, enough func(*schema.CommandResult) bool) ([]command.Answer, error) {
	client, _, err := p.commandClient(fabric)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	order, err := client.New(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ValidFor+reach)
	defer cancel()
	var answers []command.Answer
	if enough != nil {
		answers, err = client.AskUntil(ctx, &order, o.ValidFor, enough)
	} else {
		answers, err = client.Ask(ctx, &order, o.ValidFor, expect)
	}
	if err == nil && len(answers) == 0 {
		err = fmt.Errorf("no agent answered within %v: either none is running, or none accepts commands of principal %q; add it with its key to command.principals of the agents",
			o.ValidFor, p.cfg.Command.Sign.Principal)
	}
	return answers, err
}

// commandClient returns a client for the agents of a fabric, or of the only one, and that fabric.
func (p *Process) commandClient(name string) (*command.Client, config.Fabric, error) {
	f, err := FabricNamed(p.cfg.Fabrics, name)
	if err != nil {
		return nil, f, err
	}
	if err := p.reachKafka(); err != nil {
		return nil, f, err
	}
	client, err := p.clientOf(f)
	return client, f, err
}

// clientOf returns a client that uses this process's Kafka connection.
func (p *Process) clientOf(f config.Fabric) (*command.Client, error) {
	if p.cfg.Command.Sign.KeyFile == "" {
		return nil, errors.New("command.sign: no key to sign commands with: create one with giverny agents key FILE, set key_file here to it, and add its public key to command.principals of the agents")
	}
	signer, err := p.signer()
	if err != nil {
		return nil, err
	}
	verifier, err := command.NewVerifier(p.cfg.Command.Results)
	if err != nil {
		return nil, fmt.Errorf("command.results.agents: %w", err)
	}
	results := func() command.TailSource {
		return kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: envelope.Results, Fabric: f.Name, Partition: f.Partition, Tail: true})
	}
	return command.NewClient(signer, f.Name, f.Partition, command.ClientDeps{Sink: kafka.NewProducer(p.client), Results: results, Verifier: verifier, Log: p.log, Now: time.Now}), nil
}

// signer returns the key of command.sign, nil if none is configured.
func (p *Process) signer() (*command.Signer, error) {
	sign := p.cfg.Command.Sign
	if sign.KeyFile == "" {
		return nil, nil
	}
	signer, err := command.ReadSigner(sign.Principal, sign.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("command.sign.key_file: %w", err)
	}
	return signer, nil
}
