package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

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

// Findings are what the store knows of searches.
type Findings interface {
	NewestDiagnoses(ctx context.Context, fabric string, span read.Span, region uint64, n int) ([]schema.Diagnosis, error)
	Searches(ctx context.Context, fabric string, s read.Span, n int) ([]read.Search, error)
	KnownAnomalies(ctx context.Context, fabric, nicModel string) ([]read.KnownAnomaly, error)
	Hardware(ctx context.Context, fabric, device string) ([]read.HostAdapter, error)
}

// Launcher plans and launches searches in one fabric.
type Launcher struct {
	Config Config
	Fabric string
	Bus    Bus
	Nodes  Nodes // nil: Slurm is not asked
	Store  Findings
	Now    func() time.Time
	// ListWait is how long agents are given to say who they are, StartWait to begin.
	ListWait, StartWait time.Duration
}

// Waits of a launcher.
const (
	DefaultListWait  = 5 * time.Second
	DefaultStartWait = 15 * time.Second
)

// Want is what a person or the policy asks for; what is empty is the configuration's.
type Want struct {
	Diagnosis schema.Diagnosis // of the region; without a root the NIC model must be given
	Host      string           // an agent or device to take as root
	NICModel  string           // instead of a root
	Engine    string
	Budget    int
	Duration  time.Duration
	Peers     int // below 0: the configuration's
	Algorithm string
	Seed      uint64
	Restrict  map[string]json.RawMessage
	SkipKnown bool // what is known of the subsystem is not searched again
}

// Plan is a command that is ready, and how it came about.
type Plan struct {
	Root    Root
	Choice  Choice
	Request schema.SearchRequest
	Command schema.Command
}

// Hosts are the agents that answer, with what they say and whether they are free.
func (l *Launcher) Hosts(ctx context.Context) ([]Host, error) {
	list, err := l.Bus.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: l.ListWait})
	if err != nil {
		return nil, err
	}
	known, err := l.Store.Hardware(ctx, l.Fabric, "")
	if err != nil {
		return nil, err
	}
	agents := map[string]bool{} // that answered before: once so many have, there is nothing to wait for
	for i := range known {
		agents[known[i].Agent] = true
	}
	answers, err := l.Bus.Ask(ctx, &list, l.ListWait, len(agents))
	if err != nil {
		return nil, err
	}
	var hosts []Host
	var names []string
	for i := range answers {
		var status command.AgentStatus
		if answers[i].Status != schema.CommandDone || json.Unmarshal(answers[i].Output, &status) != nil || status.Hardware == nil {
			continue
		}
		names = append(names, answers[i].Agent)
		hosts = append(hosts, Host{Agent: answers[i].Agent, Hardware: *status.Hardware, Searches: slices.Contains(status.Kinds, schema.KindSearch)})
	}
	var drained map[string]string
	if l.Nodes != nil {
		if drained, err = l.Nodes.OutOfUse(ctx, names); err != nil {
			return nil, fmt.Errorf("ask Slurm which hosts are drained: %w", err)
		}
	}
	for i := range hosts {
		hosts[i].Free = free(hosts[i].Agent, l.Config.AllowHosts, drained)
	}
	return hosts, nil
}

// Diagnosis is the newest one of a region, of the last days.
func (l *Launcher) Diagnosis(ctx context.Context, region uint64) (schema.Diagnosis, error) {
	const days = 7
	now := schema.Instant(l.Now().UnixNano())
	found, err := l.Store.NewestDiagnoses(ctx, l.Fabric, read.Span{From: now - schema.Instant(days*24*time.Hour), To: now + schema.Instant(time.Hour)}, region, 1)
	if err != nil {
		return schema.Diagnosis{}, err
	}
	if len(found) == 0 {
		return schema.Diagnosis{}, fmt.Errorf("region %d of fabric %s has no diagnosis within the last %d days; name a host or a NIC model", region, l.Fabric, days)
	}
	return found[0], nil
}

// NoHostError says that no host is there to search with; other errors of Plan say that agents, Slurm or the store
// could not be asked.
type NoHostError struct{ err error }

func (e *NoHostError) Error() string { return e.err.Error() }

// Unwrap is what lies beneath.
func (e *NoHostError) Unwrap() error { return e.err }

// Plan makes the command of a search, and sends nothing but the question who is there.
func (l *Launcher) Plan(ctx context.Context, w Want) (p Plan, err error) {
	hosts, err := l.Hosts(ctx)
	if err != nil {
		return p, err
	}
	switch {
	case w.NICModel != "":
		p.Root = Root{Subsystem: schema.Subsystem{NICModel: w.NICModel}}
	case w.Host != "":
		p.Root, err = RootOf(&schema.RootPort{Peer: w.Host}, hosts)
	default:
		p.Root, err = RootOf(w.Diagnosis.Root, hosts)
	}
	if err != nil {
		return p, &NoHostError{err}
	}
	peers := w.Peers
	if peers < 0 {
		peers = l.Config.Peers
	}
	if p.Choice, err = Choose(p.Root, hosts, peers); err != nil {
		return p, &NoHostError{err}
	}
	if p.Request, err = l.request(ctx, w, p.Choice); err != nil {
		return p, err
	}
	arguments, err := json.Marshal(p.Request)
	if err != nil {
		return p, fmt.Errorf("search request: %w", err)
	}
	p.Command, err = l.Bus.New(command.Order{Kind: schema.KindSearch, Targets: []string{p.Choice.Agent}, Arguments: arguments, ValidFor: l.StartWait})
	return p, err
}

func (l *Launcher) request(ctx context.Context, w Want, c Choice) (schema.SearchRequest, error) {
	r := schema.SearchRequest{Engine: cmp.Or(w.Engine, l.Config.Engine), Subsystem: c.Subsystem, Adapter: c.Adapter, Peers: c.Peers, Algorithm: w.Algorithm,
		Budget: cmp.Or(w.Budget, l.Config.Budget), DurationSeconds: cmp.Or(w.Duration, l.Config.Duration).Seconds(), Seed: w.Seed, Restrict: w.Restrict,
		Region: w.Diagnosis.Region, Reason: reason(&w)}
	if w.SkipKnown {
		known, err := l.Store.KnownAnomalies(ctx, l.Fabric, c.Subsystem.NICModel)
		if err != nil {
			return r, err
		}
		for _, k := range known {
			if k.Subsystem.Firmware == c.Subsystem.Firmware {
				r.Known = append(r.Known, k.MFS)
			}
		}
	}
	return r, r.Check()
}

func reason(w *Want) string {
	d := &w.Diagnosis
	if d.Region == 0 {
		return ""
	}
	return fmt.Sprintf("region %d, %s with confidence %.2f at %v", d.Region, d.Cause.Class, d.Cause.Confidence, d.Time)
}

// Send sends a plan's command and waits until the agent has begun or refused.
func (l *Launcher) Send(ctx context.Context, p *Plan) (command.Answer, error) {
	answers, err := l.Bus.Begin(ctx, &p.Command, l.StartWait, 1)
	if err != nil {
		return command.Answer{}, err
	}
	if len(answers) == 0 {
		return command.Answer{}, fmt.Errorf("agent %s did not answer within %v; command %s expires then", p.Choice.Agent, l.StartWait, p.Command.ID)
	}
	if a := answers[0]; a.Status.Final() && a.Status != schema.CommandDone {
		return a, fmt.Errorf("agent %s: %s: %s", a.Agent, a.Status, a.Reason)
	}
	return answers[0], nil
}

// Try asks the agent whether it would take a plan's command, by a dry run.
func (l *Launcher) Try(ctx context.Context, p *Plan) (status schema.CommandStatus, reason string, err error) {
	dry, err := l.Bus.New(command.Order{Kind: p.Command.Kind, Targets: p.Command.Targets, Arguments: p.Command.Arguments, DryRun: true, ValidFor: l.StartWait})
	if err != nil {
		return "", "", err
	}
	answers, err := l.Bus.Ask(ctx, &dry, l.StartWait, 1)
	if err != nil || len(answers) == 0 {
		return "", fmt.Sprintf("no answer within %v", l.StartWait), err
	}
	return answers[0].Status, answers[0].Reason, nil
}
