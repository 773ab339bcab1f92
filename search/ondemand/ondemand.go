// Package ondemand is an agent's side of a search: the handler of the command kind
// "search". The input is a request, signed and allowed by package command, and the
// host's hardware; the output is progress reports and the findings at the end. It
// refuses what the configuration does not offer or what exceeds its limits, and stops
// the search when others use the adapter. The search itself is done by packages search
// and search/run.
package ondemand

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/run"
)

// Deps are the handler's dependencies; all are required except Counters and Metrics.
type Deps struct {
	Hardware func() schema.HostHardware
	Counters Counters // of adapters; nil: other traffic is not checked
	Dir      string   // folder of search logs
	Log      *slog.Logger
	Metrics  *run.Metrics // nil: none
}

// Handler runs searches. It is a command.Handler, ArgumentChecker and Partial.
type Handler struct {
	cfg  Config
	deps Deps
	rigs map[string]engine.Rig // by engine
}

// New returns the handler for a valid configuration.
func New(cfg Config, deps Deps) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("search.offer: %w", err)
	}
	rigs, err := cfg.Rigs()
	if err != nil {
		return nil, err
	}
	return &Handler{cfg, deps, rigs}, nil
}

// Kind is search.
func (*Handler) Kind() string { return schema.KindSearch }

// PartialOutput marks that the findings of a stopped search count.
func (*Handler) PartialOutput() {}

// order is a request that this host can execute.
type order struct {
	schema.SearchRequest
	engine    *EngineConfig
	subsystem schema.Subsystem // of this host
	restrict  search.Restriction
}

// CheckArguments refuses what this host does not offer.
func (h *Handler) CheckArguments(arguments json.RawMessage) *safety.Refusal {
	_, no := h.read(arguments)
	return no
}

func (h *Handler) read(arguments json.RawMessage) (o order, no *safety.Refusal) {
	in := json.NewDecoder(bytes.NewReader(arguments))
	in.DisallowUnknownFields()
	if err := in.Decode(&o.SearchRequest); err != nil {
		return o, safety.Refuse(safety.BadArguments, "search request: %v", err)
	}
	if err := o.Check(); err != nil {
		return o, safety.Refuse(safety.BadArguments, "%v", err)
	}
	o.Algorithm = cmp.Or(o.Algorithm, string(search.Lift))
	if !slices.Contains(search.Algorithms(), search.Algorithm(o.Algorithm)) {
		return o, safety.Refuse(safety.BadArguments, "algorithm %q: want one of %v", o.Algorithm, search.Algorithms())
	}
	var err error
	if o.restrict, err = restriction(o.Restrict); err != nil {
		return o, safety.Refuse(safety.BadArguments, "%v", err)
	}
	if no = h.limits(&o); no != nil {
		return o, no
	}
	return o, h.place(&o)
}

// limits checks the limits of this host.
func (h *Handler) limits(o *order) *safety.Refusal {
	longest := h.cfg.MaxDuration.Seconds()
	switch {
	case o.Budget > h.cfg.MaxExperiments:
		return safety.Refuse(safety.OverLimit, "budget of %d experiments, search.offer.max_experiments is %d", o.Budget, h.cfg.MaxExperiments)
	case o.DurationSeconds > longest:
		return safety.Refuse(safety.OverLimit, "duration of %gs, search.offer.max_duration is %v", o.DurationSeconds, h.cfg.MaxDuration)
	case o.MaxGigabytes > h.cfg.MaxGigabytes:
		return safety.Refuse(safety.OverLimit, "traffic of %g GB, search.offer.max_gigabytes is %g", o.MaxGigabytes, h.cfg.MaxGigabytes)
	}
	o.MaxGigabytes = cmp.Or(o.MaxGigabytes, h.cfg.MaxGigabytes)
	return nil
}

// place resolves the engine, the peers and the adapter.
func (h *Handler) place(o *order) *safety.Refusal {
	i := slices.IndexFunc(h.cfg.Engines, func(e EngineConfig) bool { return e.Name == o.Engine })
	if i < 0 {
		return safety.Refuse(safety.NotOffered, "engine %.80q is not in search.offer.engines of this host", o.Engine)
	}
	o.engine = &h.cfg.Engines[i]
	for _, p := range o.Peers {
		if !safety.Matches(h.cfg.Peers, p) {
			return safety.Refuse(safety.NotOffered, "peer %q is not in search.offer.peers of this host", p)
		}
	}
	if o.engine.wantsPeer() && len(o.Peers) == 0 {
		return safety.Refuse(safety.BadArguments, "engine %q needs a peer", o.Engine)
	}
	if !o.engine.wantsPeer() && len(o.Peers) > 0 {
		return safety.Refuse(safety.BadArguments, "engine %q takes no peer", o.Engine)
	}
	if o.engine.Kind == kindSimulated { // unrelated to this host's adapters
		o.Adapter, o.subsystem = "", schema.Subsystem{NICModel: "simulated " + o.engine.Subsystem}
		return nil
	}
	return h.placeAdapter(o)
}

func (h *Handler) placeAdapter(o *order) *safety.Refusal {
	hardware := h.deps.Hardware()
	for i := range hardware.Adapters {
		a := &hardware.Adapters[i]
		if o.Adapter != "" && o.Adapter != a.Name || o.Adapter == "" && o.Subsystem.NICModel != "" && o.Subsystem.NICModel != a.Model {
			continue
		}
		if !safety.Matches(h.cfg.Adapters, a.Name) {
			return safety.Refuse(safety.NotOffered, "adapter %s is not in search.offer.adapters of this host", a.Name)
		}
		o.Adapter, o.subsystem = a.Name, hardware.Subsystem(a)
		if differs := o.Subsystem.Differs(o.subsystem); differs != "" {
			return safety.Refuse(safety.BadArguments, "adapter %s belongs to another subsystem than the requested one: %s", a.Name, differs)
		}
		return nil
	}
	return safety.Refuse(safety.BadArguments, "this host has no adapter %s%s", cmp.Or(o.Adapter, "of model "+o.Subsystem.NICModel), describeAdapters(&hardware))
}

func describeAdapters(h *schema.HostHardware) string {
	var names []string
	for _, a := range h.Adapters {
		names = append(names, a.Name+" ("+a.Model+")")
	}
	if len(names) == 0 {
		return ", and none at all"
	}
	return "; it has " + strings.Join(names, ", ")
}

// restriction parses a restriction, which users write in YAML, from JSON.
func restriction(limits map[string]json.RawMessage) (search.Restriction, error) {
	if len(limits) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(limits)
	if err != nil {
		return nil, fmt.Errorf("restrict: %w", err)
	}
	return search.ParseRestriction(text)
}

// DryRun reports what would be searched, with which limits.
func (h *Handler) DryRun(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	o, no := h.read(arguments)
	if no != nil {
		return nil, errors.New(no.Detail)
	}
	return json.Marshal(o.report())
}

// report returns a report without results.
func (o *order) report() schema.SearchReport {
	return schema.SearchReport{Engine: o.Engine, Adapter: o.Adapter, Subsystem: o.subsystem, Algorithm: o.Algorithm, Seed: o.Seed,
		Peers: o.Peers, Region: o.Region, Budget: o.Budget}
}

// Run runs a search.
func (h *Handler) Run(ctx context.Context, c command.Call) (json.RawMessage, error) {
	o, no := h.read(c.Arguments)
	if no != nil { // the hardware changed since the check
		return nil, errors.New(no.Detail)
	}
	duration := time.Duration(o.DurationSeconds * float64(time.Second))
	ctx, cancelTime := context.WithTimeoutCause(ctx, duration, errDuration)
	defer cancelTime()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &watch{cfg: &h.cfg, counters: h.deps.Counters, adapter: o.Adapter, limit: o.MaxGigabytes, stop: stop}
	if err := makeRoom(h.deps.Dir); err != nil {
		return nil, err
	}
	engines, err := h.open(&o, w)
	if err != nil {
		return nil, err
	}
	defer closeAll(engines, h.deps.Log)
	known, err := h.known(ctx, o.Known, engines)
	if err != nil {
		return nil, err
	}
	news := newNews(o.report(), c.Report, w.gigabytes, h.cfg.ReportEvery)
	news.now()
	s, err := run.Run(ctx, run.Options{Engines: engines, Search: search.Config{Algorithm: search.Algorithm(o.Algorithm), Budget: o.Budget, Seed: o.Seed},
		Restrict: o.restrict, Known: known, Log: filepath.Join(h.deps.Dir, c.ID+logSuffix), OnFinding: news.finding, OnProgress: news.progress,
		Logger: h.deps.Log.With("search", c.ID), Metrics: h.deps.Metrics})
	if cause := context.Cause(ctx); ctx.Err() != nil && !errors.Is(cause, errDuration) {
		err = cause
	} else if ctx.Err() != nil {
		err = nil // the requested time is over, which is the normal end of a search
	}
	return news.last(&s.Summary), err
}

var errDuration = errors.New("the duration of the search has elapsed")

// known concatenates the MFS that are valid in the engines' space.
func (h *Handler) known(ctx context.Context, list []json.RawMessage, engines []engine.Engine) (text []byte, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	d, err := run.Describe(ctx, engines)
	if err != nil {
		return nil, err
	}
	space, err := run.Space(d, nil)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if _, err := space.ParseKnown(one); err != nil { // for example of an engine with other dimensions
			h.deps.Log.Warn("search: known anomaly ignored", "mfs", string(one), "error", err)
			continue
		}
		text = append(append(text, one...), '\n')
	}
	return text, nil
}

// open opens an engine per peer, or one without peers.
func (h *Handler) open(o *order, w *watch) (engines []engine.Engine, err error) {
	peers := o.Peers
	if len(peers) == 0 {
		peers = []string{""}
	}
	rig := h.rigOf(o)
	for i, peer := range peers {
		var e engine.Engine
		switch o.engine.Kind {
		case kindSimulated:
			e, err = engine.NewSimulated(engine.SimulatedConfig{Subsystem: o.engine.Subsystem, Seed: o.Seed + uint64(i)})
		case kindExec:
			fill := strings.NewReplacer(peerPlace, peer, adapterPlace, o.Adapter)
			vector := make([]string, len(o.engine.Command))
			for k, arg := range o.engine.Command {
				vector[k] = fill.Replace(arg)
			}
			e, err = engine.NewExec(engine.DefaultExecConfig(vector), h.deps.Log)
		case kindPerftest:
			e, err = engine.NewPerftest(&rig, i, h.deps.Log)
		case kindCollie:
			e, err = engine.NewCollie(&rig, i, h.deps.Log)
		}
		if err != nil {
			closeAll(engines, h.deps.Log)
			return nil, fmt.Errorf("engine %s: %w", o.Engine, err)
		}
		engines = append(engines, &watched{e, w})
	}
	return engines, nil
}

// rigOf returns the rig of an order's engine with a pair for each peer.
func (h *Handler) rigOf(o *order) engine.Rig {
	rig := h.rigs[o.Engine]
	if len(rig.Pairs) == 0 {
		return rig
	}
	one := rig.Pairs[0]
	rig.Pairs = nil
	for _, peer := range o.Peers {
		pair := one
		pair.A.SSH, pair.A.Device = "", o.Adapter
		for _, text := range []*string{&pair.B.SSH, &pair.B.Address} {
			*text = strings.ReplaceAll(*text, peerPlace, peer)
		}
		rig.Pairs = append(rig.Pairs, pair)
	}
	return rig
}

func closeAll(engines []engine.Engine, log *slog.Logger) {
	for _, e := range engines {
		if err := e.Close(); err != nil {
			log.Warn("search: closing the engine failed", "error", err)
		}
	}
}
