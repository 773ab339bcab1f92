// Package ondemand is an agent's side of a run that probes its host: the handler of the
// command kind "hostping". The input is a request, signed and allowed by package
// command, and the host; the output is an outcome. It refuses what the configuration
// does not offer. Package local does the probing.
package ondemand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/internal/faults"
)

// Config is what this host's agent probes on request. command.allow decides who may use it, and when.
type Config struct {
	// Accept commands to probe this host.
	Enabled bool `yaml:"enabled"`
	// Maximum duration of a run; command.allow and command.limits bound it too.
	MaxDuration time.Duration `yaml:"max_duration"`
}

// DefaultConfig accepts no commands.
func DefaultConfig() Config { return Config{MaxDuration: 10 * time.Minute} }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.MaxDuration > 0, "max_duration", "%v: want a positive duration", c.MaxDuration)
	return f.Err()
}

// Host is the host to probe: a *local.Host.
type Host interface {
	Check(o *local.Order) error
	Outcome(o *local.Order) order.Outcome
	Run(ctx context.Context, o *local.Order) (order.Outcome, error)
}

// Handler executes runs. It is a command.Handler and ArgumentChecker.
type Handler struct {
	cfg  Config
	host Host
}

// New returns the handler for a valid configuration.
func New(cfg Config, host Host) *Handler { return &Handler{cfg, host} }

// Kind is hostping.
func (*Handler) Kind() string { return order.Kind }

// CheckArguments refuses what this host does not offer.
func (h *Handler) CheckArguments(arguments json.RawMessage) *safety.Refusal {
	_, no := h.read(arguments)
	return no
}

func (h *Handler) read(arguments json.RawMessage) (o local.Order, no *safety.Refusal) {
	in := json.NewDecoder(bytes.NewReader(arguments))
	in.DisallowUnknownFields()
	if err := in.Decode(&o.Request); err != nil {
		return o, safety.Refuse(safety.BadArguments, "hostping request: %v", err)
	}
	if err := o.Request.Check(); err != nil {
		return o, safety.Refuse(safety.BadArguments, "%v", err)
	}
	if o.DurationSeconds > h.cfg.MaxDuration.Seconds() {
		return o, safety.Refuse(safety.OverLimit, "duration of %gs, hostping.offer.max_duration is %v", o.DurationSeconds, h.cfg.MaxDuration)
	}
	o.Trigger = order.Commanded
	if err := h.host.Check(&o); err != nil {
		return o, safety.Refuse(safety.BadArguments, "%v", err)
	}
	return o, nil
}

// DryRun reports what would be probed.
func (h *Handler) DryRun(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	o, no := h.read(arguments)
	if no != nil {
		return nil, errors.New(no.Detail)
	}
	return json.Marshal(h.host.Outcome(&o))
}

// Run probes the host.
func (h *Handler) Run(ctx context.Context, c command.Call) (json.RawMessage, error) {
	o, no := h.read(c.Arguments)
	if no != nil { // the host changed since the check
		return nil, errors.New(no.Detail)
	}
	out, err := h.host.Run(ctx, &o)
	if err != nil {
		if cause := context.Cause(ctx); ctx.Err() != nil {
			err = cause
		}
		return nil, err
	}
	text, err := command.Output(&out)
	if err != nil {
		out.Graph = nil // the page then shows no drawing
		text, err = command.Output(&out)
	}
	return text, err
}
