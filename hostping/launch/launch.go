// Package launch starts a run that probes the host at the root of a region. The input is
// diagnoses, the agents' reports on their hosts, Slurm's states, and the store's runs and
// baselines; the output is signed commands of the kind "hostping". A policy can do so
// automatically, off by default and within limits. It does not probe itself: agents do.
package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Runs gives access to stored runs and baselines, and to searches.
type Runs interface {
	HostRuns(ctx context.Context, fabric string, s read.Span, f read.HostRunFilter, n int) ([]read.HostRun, error)
	HostBaselines(ctx context.Context, fabric, model string) ([]read.HostBaseline, error)
	// Searches of NICs, which a probe would disturb.
	Searches(ctx context.Context, fabric string, s read.Span, n int) ([]read.Search, error)
}

// Launcher plans and launches runs in one fabric.
type Launcher struct {
	*dispatch.Dispatcher
	Config Config
	Runs   Runs
}

// Want is a request from a user or the policy; the launcher fills in empty fields.
type Want struct {
	Diagnosis schema.Diagnosis // of the region
	Host      string           // agent or device, instead of a region's root
	Mode      order.Mode
	Duration  time.Duration
}

// Plan is a command ready to be sent, with the reasons for it.
type Plan struct {
	Root    dispatch.Root
	Free    string // why the host may be probed
	Request order.Request
	Command schema.Command
}

// errInUse means that the host may not be probed now.
var errInUse = errors.New("the host is in use: it is neither in hostping.launch.allow_hosts nor drained")

// Plan creates the command of a run. It sends nothing except the query for available agents.
func (l *Launcher) Plan(ctx context.Context, w Want) (p Plan, err error) {
	hosts, err := l.Hosts(ctx, l.Config.AllowHosts)
	if err != nil {
		return p, err
	}
	root := w.Diagnosis.Root
	if w.Host != "" {
		root = &schema.Root{Link: schema.NoLink, Peer: w.Host}
	}
	if p.Root, err = dispatch.RootOf(root, hosts); err != nil {
		return p, &dispatch.NoHostError{Err: err}
	}
	host := &hosts[slices.IndexFunc(hosts, func(h dispatch.Host) bool { return h.Agent == p.Root.Agent })]
	switch {
	case !slices.Contains(host.Kinds, order.Kind):
		return p, &dispatch.NoHostError{Err: fmt.Errorf("agent %s accepts no runs: its hostping.offer.enabled is false, or its hostping.host.prober is empty", host.Agent)}
	case host.Free == "":
		return p, fmt.Errorf("agent %s: %w", host.Agent, errInUse)
	}
	if err := l.searching(ctx, host.Agent); err != nil {
		return p, err
	}
	p.Free = host.Free
	if p.Request, err = l.request(ctx, &w, p.Root, p.Free); err != nil {
		return p, err
	}
	arguments, err := json.Marshal(p.Request)
	if err != nil {
		return p, fmt.Errorf("hostping request: %w", err)
	}
	p.Command, err = l.Bus.New(command.Order{Kind: order.Kind, Targets: []string{p.Root.Agent}, Arguments: arguments, ValidFor: l.StartWait})
	return p, err
}

// SearchingError means that a host takes part in a search.
type SearchingError struct{ Agent, Search string }

func (e *SearchingError) Error() string {
	return fmt.Sprintf("agent %s is in search %s, which a probe would disturb; wait, or cancel it (giverny search cancel %s)", e.Agent, e.Search, e.Search)
}

// searching returns an error if the host takes part in a search.
func (l *Launcher) searching(ctx context.Context, agent string) error {
	list, err := l.Runs.Searches(ctx, l.Fabric, l.Past(dispatch.Day), read.MaxSearches)
	if err != nil {
		return fmt.Errorf("cannot tell whether %s takes part in a search: %w", agent, err)
	}
	if id := read.Searching(list, schema.InstantOf(l.Now()))[agent]; id != "" {
		return &SearchingError{agent, id}
	}
	return nil
}

// request covers every pair of a host that is out of use, otherwise only the RNIC at
// the root and its own endpoints.
func (l *Launcher) request(ctx context.Context, w *Want, root dispatch.Root, free string) (order.Request, error) {
	r := order.Request{Mode: w.Mode, DurationSeconds: cmp.Or(w.Duration, l.Config.Duration).Seconds(), Region: w.Diagnosis.Region, Reason: dispatch.Reason(&w.Diagnosis)}
	if r.Mode == "" {
		r.Mode = order.Full
		if w.Diagnosis.Region != 0 && free == dispatch.Allowed {
			r.Mode = order.Affinitive
		}
	}
	if r.Mode == order.Affinitive {
		r.RNIC = root.Adapter
	}
	if r.Mode != order.Baseline {
		var err error
		if r.Baseline, err = l.baseline(ctx, root.Agent); err != nil {
			return r, err
		}
	}
	return r, r.Check()
}

// baseline returns the median over hosts of the stored baselines of the agent's model,
// as given by its last run; nil: none.
func (l *Launcher) baseline(ctx context.Context, agent string) (*hostping.Baseline, error) {
	const month = 30 * 24 * time.Hour
	runs, err := l.Runs.HostRuns(ctx, l.Fabric, l.Past(month), read.HostRunFilter{Agent: agent}, 10)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(runs, func(r read.HostRun) bool { return r.Model != "" })
	if at < 0 {
		return nil, nil
	}
	list, err := l.Runs.HostBaselines(ctx, l.Fabric, runs[at].Model)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	b := list[0].Baseline
	b.Pairs = slices.Clone(b.Pairs)
	for i := range b.Pairs {
		latency, gbps := b.Pairs[i].Typical()
		b.Pairs[i].LatencyMicros, b.Pairs[i].Gbps = []float64{latency}, []float64{gbps}
	}
	return &b, nil
}

// past returns the runs of an agent, or of all (""), within a duration.
func (l *Launcher) past(ctx context.Context, agent string, within time.Duration) ([]read.HostRun, error) {
	return l.Runs.HostRuns(ctx, l.Fabric, l.Past(within), read.HostRunFilter{Agent: agent}, read.MaxHosts)
}
