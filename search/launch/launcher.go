package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Findings gives access to stored searches.
type Findings interface {
	Searches(ctx context.Context, fabric string, s read.Span, n int) ([]read.Search, error)
	KnownAnomalies(ctx context.Context, fabric, nicModel string) ([]read.KnownAnomaly, error)
}

// Launcher plans and launches searches in one fabric.
type Launcher struct {
	*dispatch.Dispatcher
	Config   Config
	Findings Findings
}

// Want is a request from a user or the policy; empty fields default to the configuration.
type Want struct {
	Diagnosis schema.Diagnosis // of the region; without a root, the NIC model is required
	Host      string           // agent or device to use as root
	NICModel  string           // instead of a root
	Engine    string
	Budget    int
	Duration  time.Duration
	Peers     int // negative: as configured
	Algorithm string
	Seed      uint64
	Restrict  map[string]json.RawMessage
	SkipKnown bool // skip known anomalies of the subsystem
}

// Plan is a command ready to be sent, with the reasons for it.
type Plan struct {
	Root    dispatch.Root
	Choice  Choice
	Request schema.SearchRequest
	Command schema.Command
}

// Plan creates the command of a search. It sends nothing except the query for available
// agents.
func (l *Launcher) Plan(ctx context.Context, w Want) (p Plan, err error) {
	hosts, err := l.Hosts(ctx, l.Config.AllowHosts)
	if err != nil {
		return p, err
	}
	switch {
	case w.NICModel != "":
		p.Root = dispatch.Root{Subsystem: schema.Subsystem{NICModel: w.NICModel}}
	case w.Host != "":
		p.Root, err = dispatch.RootOf(&schema.Root{Link: schema.NoLink, Peer: w.Host}, hosts)
	default:
		p.Root, err = dispatch.RootOf(w.Diagnosis.Root, hosts)
	}
	if err != nil {
		return p, &dispatch.NoHostError{Err: fmt.Errorf("%w, or name a NIC model", err)}
	}
	peers := w.Peers
	if peers < 0 {
		peers = l.Config.Peers
	}
	past, err := l.past(ctx, dispatch.Day)
	if err != nil {
		return p, err
	}
	if p.Choice, err = Choose(p.Root, hosts, peers, read.Searching(past, schema.InstantOf(l.Now()))); err != nil {
		return p, &dispatch.NoHostError{Err: err}
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
		Region: w.Diagnosis.Region, Reason: dispatch.Reason(&w.Diagnosis)}
	if w.SkipKnown {
		known, err := l.Findings.KnownAnomalies(ctx, l.Fabric, c.Subsystem.NICModel)
		if err != nil {
			return r, err
		}
		r.Known = knownOf(known, c.Subsystem.Firmware)
	}
	return r, r.Check()
}

// knownOf returns the distinct known MFS of a firmware, in list order, as many as fit into a command.
func knownOf(list []read.KnownAnomaly, firmware string) (known []json.RawMessage) {
	const room = command.MaxArgumentBytes / 2 // the rest is for the restriction
	seen, bytes := map[string]bool{}, 0
	for i := range list {
		mfs := list[i].MFS
		if list[i].Subsystem.Firmware != firmware || seen[string(mfs)] {
			continue
		}
		if bytes += len(mfs) + 1; bytes > room || len(known) == schema.MaxSearchKnown {
			break
		}
		seen[string(mfs)] = true
		known = append(known, mfs)
	}
	return known
}
