// Package dispatch finds the agent at the root of a region, for everything that
// launches commands for diagnoses: searches, probes of hosts. The input is diagnoses,
// the agents' reports on their hosts, and Slurm's states; the output is hosts, roots,
// and queued diagnoses. Its users decide which command to send, and whether to.
package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Host is an agent's host.
type Host struct {
	Agent    string
	Hardware schema.HostHardware
	Kinds    []string // kinds of commands that the agent accepts, in addition to the harmless ones
	Free     string   // why it may be used: "allowed", or Slurm's state; empty: it is in use
}

// adapterOf returns the host's adapter for a device of the topology, which may also be
// the host's name.
func (h *Host) adapterOf(device string) *schema.Adapter {
	for i := range h.Hardware.Adapters {
		if a := &h.Hardware.Adapters[i]; a.Device == device {
			return a
		}
	}
	if h.Agent == device && len(h.Hardware.Adapters) > 0 {
		return &h.Hardware.Adapters[0]
	}
	return nil
}

// Root is the adapter at which back pressure begins.
type Root struct {
	Device    string           `json:"device,omitempty"` // of the topology; empty: unknown
	Agent     string           `json:"agent,omitempty"`
	Adapter   string           `json:"adapter,omitempty"`
	Subsystem schema.Subsystem `json:"subsystem"`
}

// RootOf returns the host that a diagnosis' root is, or is connected to.
func RootOf(root *schema.Root, hosts []Host) (Root, error) {
	if root == nil {
		return Root{}, errors.New("the diagnosis has no root: where back pressure begins is not known; name a host")
	}
	var named []string
	for _, device := range []string{root.Peer, root.Device} {
		if device == "" {
			continue
		}
		named = append(named, strconv.Quote(device))
		for i := range hosts {
			if a := hosts[i].adapterOf(device); a != nil {
				return Root{device, hosts[i].Agent, a.Name, hosts[i].Hardware.Subsystem(a)}, nil
			}
		}
	}
	return Root{}, fmt.Errorf("none of the %d agents that answered reports an adapter of %s; check that the host has one and that an agent with a command section runs there", len(hosts), strings.Join(named, " or "))
}

// Bus carries commands: a *command.Client.
type Bus interface {
	New(o command.Order) (schema.Command, error)
	Ask(ctx context.Context, c *schema.Command, wait time.Duration, expect int) ([]command.Answer, error)
	Begin(ctx context.Context, c *schema.Command, wait time.Duration, expect int) ([]command.Answer, error)
}

// Nodes returns which hosts are out of use, and their states.
type Nodes interface {
	OutOfUse(ctx context.Context, names []string) (map[string]string, error)
}

// Store gives access to a fabric's diagnoses and hosts.
type Store interface {
	NewestDiagnoses(ctx context.Context, fabric string, span read.Span, region uint64, n int) ([]schema.Diagnosis, error)
	Hardware(ctx context.Context, fabric, device string) ([]read.HostAdapter, error)
}

// Dispatcher sends the commands of one fabric.
type Dispatcher struct {
	Fabric string
	Bus    Bus
	Nodes  Nodes // nil: Slurm is not queried
	Store  Store
	Now    func() time.Time
	// ListWait is how long agents may take to answer agents.list, StartWait to begin a
	// command.
	ListWait, StartWait time.Duration
}

// Default waits of a dispatcher.
const (
	DefaultListWait  = 5 * time.Second
	DefaultStartWait = 15 * time.Second
)

// Hosts returns the agents that answer, with their reports and whether they are free:
// allowed by the list, or out of use by Slurm. It is an error if all refuse to answer,
// as they do if they do not know the key.
func (d *Dispatcher) Hosts(ctx context.Context, allow []string) ([]Host, error) {
	list, err := d.Bus.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: d.ListWait})
	if err != nil {
		return nil, err
	}
	known, err := d.Store.Hardware(ctx, d.Fabric, "")
	if err != nil {
		return nil, err
	}
	agents := map[string]bool{} // known from earlier answers: once that many have answered, waiting ends
	for i := range known {
		agents[known[i].Agent] = true
	}
	answers, err := d.Bus.Ask(ctx, &list, d.ListWait, len(agents))
	if err != nil {
		return nil, err
	}
	var hosts []Host
	var names []string
	var refused error
	for i := range answers {
		if a := &answers[i]; refused == nil && a.Status == schema.CommandRefused {
			refused = fmt.Errorf("agent %q refused to be listed: %s", a.Agent, a.Reason)
		}
		var status command.AgentStatus
		if answers[i].Status != schema.CommandDone || json.Unmarshal(answers[i].Output, &status) != nil || status.Hardware == nil {
			continue
		}
		names = append(names, answers[i].Agent)
		hosts = append(hosts, Host{Agent: answers[i].Agent, Hardware: *status.Hardware, Kinds: status.Kinds})
	}
	if len(hosts) == 0 && refused != nil {
		return nil, refused
	}
	var drained map[string]string
	if d.Nodes != nil {
		if drained, err = d.Nodes.OutOfUse(ctx, names); err != nil {
			return nil, fmt.Errorf("ask Slurm which hosts are drained: %w", err)
		}
	}
	for i := range hosts {
		hosts[i].Free = free(hosts[i].Agent, allow, drained)
	}
	return hosts, nil
}

// Allowed is the reason for hosts allowed by a list.
const Allowed = "allowed"

// free returns why a host may be used; empty if it may not.
func free(agent string, allow []string, drained map[string]string) string {
	if safety.Matches(allow, agent) {
		return Allowed
	}
	return drained[agent]
}

// Diagnosis returns the newest diagnosis of a region within the last 7 days; of no region (0), an empty one.
func (d *Dispatcher) Diagnosis(ctx context.Context, region uint64) (schema.Diagnosis, error) {
	if region == 0 {
		return schema.Diagnosis{}, nil
	}
	const days = 7
	found, err := d.Store.NewestDiagnoses(ctx, d.Fabric, d.Past(days*24*time.Hour), region, 1)
	if err != nil {
		return schema.Diagnosis{}, err
	}
	if len(found) == 0 {
		return schema.Diagnosis{}, fmt.Errorf("region %d of fabric %s has no diagnosis within the last %d days; name a host or a NIC model", region, d.Fabric, days)
	}
	return found[0], nil
}

// Past is the span from within ago until now.
func (d *Dispatcher) Past(within time.Duration) read.Span { return read.Past(d.Now(), within) }

// Send sends a command to one agent and waits until it has begun or refused it.
func (d *Dispatcher) Send(ctx context.Context, c *schema.Command, agent string) (command.Answer, error) {
	answers, err := d.Bus.Begin(ctx, c, d.StartWait, 1)
	if err != nil {
		return command.Answer{}, err
	}
	if len(answers) == 0 {
		return command.Answer{}, fmt.Errorf("agent %s did not answer within %v; command %s expires then", agent, d.StartWait, c.ID)
	}
	if a := answers[0]; a.Status.Final() && a.Status != schema.CommandDone {
		return a, fmt.Errorf("agent %s: %s: %s", a.Agent, a.Status, a.Reason)
	}
	return answers[0], nil
}

// Try checks by a dry run whether the agent would accept a command.
func (d *Dispatcher) Try(ctx context.Context, c *schema.Command) (status schema.CommandStatus, reason string, err error) {
	dry, err := d.Bus.New(command.Order{Kind: c.Kind, Targets: c.Targets, Arguments: c.Arguments, DryRun: true, ValidFor: d.StartWait})
	if err != nil {
		return "", "", err
	}
	answers, err := d.Bus.Ask(ctx, &dry, d.StartWait, 1)
	if err != nil || len(answers) == 0 {
		return "", fmt.Sprintf("no answer within %v", d.StartWait), err
	}
	return answers[0].Status, answers[0].Reason, nil
}

// Reason describes the diagnosis that a command is for.
func Reason(d *schema.Diagnosis) string {
	if d.Region == 0 {
		return ""
	}
	return fmt.Sprintf("region %d, %s with confidence %.2f at %v", d.Region, d.Cause.Class, d.Cause.Confidence, d.Time)
}
