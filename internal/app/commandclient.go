package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
)

// CommandClient returns a client for sending commands to the agents of a fabric.
func (p *Process) CommandClient(name string) (*command.Client, error) {
	client, _, err := p.commandClient(name)
	return client, err
}

// commandClient is CommandClient, and also returns the fabric.
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
