// Package dispatch takes a region to the agent at its root, for what launches commands
// by diagnoses: searches, probes of hosts. In go diagnoses, what agents say of their
// hosts, and Slurm's states; out come hosts, roots, and diagnoses one at a time, as
// they come due. Which command to send, and whether to, its users decide.
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
	Kinds    []string // of commands that the agent takes, besides those of every agent
	Free     string   // why it may be used: "allowed", or Slurm's state; empty: it is in use
}

// adapterOf finds the host's adapter of a device of the topology, which may be the
// host's name.
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
	Device    string           `json:"device,omitempty"` // of the topology; empty: none was named
	Agent     string           `json:"agent,omitempty"`
	Adapter   string           `json:"adapter,omitempty"`
	Subsystem schema.Subsystem `json:"subsystem"`
}

// RootOf finds the host that a diagnosis' root is, or is connected to.
func RootOf(root *schema.Root, hosts []Host) (Root, error) {
	if root == nil {
		return Root{}, errors.New("the diagnosis has no root: where back pressure begins is not known; name a host or a NIC model")
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
	return Root{}, fmt.Errorf("none of the %d agents that answered reports an adapter of %s; is an agent with its command section there? Or name a NIC model", len(hosts), strings.Join(named, " or "))
}

// Bus carries commands: a *command.Client.
type Bus interface {
	New(o command.Order) (schema.Command, error)
	Ask(ctx context.Context, c *schema.Command, wait time.Duration, expect int) ([]command.Answer, error)
	Begin(ctx context.Context, c *schema.Command, wait time.Duration, expect int) ([]command.Answer, error)
}

// Nodes says which hosts are out of use, and in what state.
type Nodes interface {
	OutOfUse(ctx context.Context, names []string) (map[string]string, error)
}

// Store is what is known of a fabric's diagnoses and hosts.
type Store interface {
	NewestDiagnoses(ctx context.Context, fabric string, span read.Span, region uint64, n int) ([]schema.Diagnosis, error)
	Hardware(ctx context.Context, fabric, device string) ([]read.HostAdapter, error)
}

// Dispatcher sends the commands of one fabric.
type Dispatcher struct {
	Fabric string
	Bus    Bus
	Nodes  Nodes // nil: Slurm is not asked
	Store  Store
	Now    func() time.Time
	// ListWait is how long agents are given to say who they are, StartWait to begin.
	ListWait, StartWait time.Duration
}

// Waits of a dispatcher.
const (
	DefaultListWait  = 5 * time.Second
	DefaultStartWait = 15 * time.Second
)

// Hosts are the agents that answer, with what they say and whether they are free: in
// the list of allowed ones, or out of use by Slurm. It is an error if all refuse to
// answer, as they do where they do not know the key.
func (d *Dispatcher) Hosts(ctx context.Context, allow []string) ([]Host, error) {
	list, err := d.Bus.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: d.ListWait})
	if err != nil {
		return nil, err
	}
	known, err := d.Store.Hardware(ctx, d.Fabric, "")
	if err != nil {
		return nil, err
	}
	agents := map[string]bool{} // that answered before: once so many have, there is nothing to wait for
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

// Allowed is why a host may be used that a list allows.
const Allowed = "allowed"

// free says why a host may be used.
func free(agent string, allow []string, drained map[string]string) string {
	if safety.Matches(allow, agent) {
		return Allowed
	}
	return drained[agent]
}

// Diagnosis is the newest one of a region, of the last days.
func (d *Dispatcher) Diagnosis(ctx context.Context, region uint64) (schema.Diagnosis, error) {
	const days = 7
	now := schema.Instant(d.Now().UnixNano())
	found, err := d.Store.NewestDiagnoses(ctx, d.Fabric, read.Span{From: now - schema.Instant(days*24*time.Hour), To: now + schema.Instant(time.Hour)}, region, 1)
	if err != nil {
		return schema.Diagnosis{}, err
	}
	if len(found) == 0 {
		return schema.Diagnosis{}, fmt.Errorf("region %d of fabric %s has no diagnosis within the last %d days; name a host or a NIC model", region, d.Fabric, days)
	}
	return found[0], nil
}

// Past is the span of a time until now, with room for clocks that are ahead.
func (d *Dispatcher) Past(within time.Duration) read.Span {
	now := d.Now()
	return read.Span{From: schema.Instant(now.Add(-within).UnixNano()), To: schema.Instant(now.Add(time.Hour).UnixNano())}
}

// Send sends a command to one agent and waits until it has begun or refused.
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

// Try asks the agent whether it would take a command, by a dry run.
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

// Reason is what a command says of the diagnosis that it comes from.
func Reason(d *schema.Diagnosis) string {
	if d.Region == 0 {
		return ""
	}
	return fmt.Sprintf("region %d, %s with confidence %.2f at %v", d.Region, d.Cause.Class, d.Cause.Confidence, d.Time)
}
