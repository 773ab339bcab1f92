package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/simulated"
)

// Names of engines.
const (
	engineSimulated = "simulated"
	engineExec      = "exec"
	enginePerftest  = "perftest"
	engineCollie    = "collie-engine"
)

// engineFlags select what measures.
type engineFlags struct {
	name, command, subsystem, rig string
	pairs                         int
	timeout                       time.Duration
	restarts                      int
	noiseSeed                     uint64
	flaky                         simulated.Flakiness
	latency                       time.Duration
}

func (f *engineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "engine", engineSimulated, "engine that measures: simulated, exec, perftest or collie-engine")
	flags.StringVar(&f.command, "command", "", "exec: the program and its arguments, split at blanks; no shell is used")
	flags.StringVar(&f.rig, "rig", "", "perftest, collie-engine: YAML with the pairs of hosts")
	flags.IntVar(&f.pairs, "pairs", 1, "number of host pairs that measure in parallel, each with its own engine")
	flags.DurationVar(&f.timeout, "timeout", engine.DefaultExecConfig(nil).Timeout, "exec: limit of an answer")
	flags.IntVar(&f.restarts, "restarts", engine.DefaultExecConfig(nil).Restarts, "exec: restarts of the program in a row before the pair is no longer used")
	flags.StringVar(&f.subsystem, "subsystem", "F", "simulated: F or H of the paper")
	flags.Uint64Var(&f.noiseSeed, "noise-seed", 1, "simulated: seed of the noise")
	flags.Float64Var(&f.flaky.SetupFailed, "setup-failures", 0, "simulated: share of the measurements whose set-up fails")
	flags.Float64Var(&f.flaky.MissedSymptom, "missed-symptoms", 0, "simulated: share of the measurements that miss a symptom")
	flags.DurationVar(&f.latency, "latency", 0, "simulated: duration of a measurement")
}

// open creates an engine for each pair.
func (f *engineFlags) open(log *slog.Logger) (engines []engine.Engine, err error) {
	if f.pairs < 1 || f.pairs > search.MaxPairs { // before engines are started
		return nil, fmt.Errorf("--pairs %d: want 1 to %d", f.pairs, search.MaxPairs)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	var rig engine.Rig
	if f.rig != "" {
		if rig, err = engine.ReadRig(f.rig); err != nil {
			return nil, err
		}
		if f.pairs > len(rig.Pairs) {
			return nil, fmt.Errorf("--pairs %d: %s has %d", f.pairs, f.rig, len(rig.Pairs))
		}
	}
	for i := range f.pairs {
		e, err := f.openOne(i, &rig, log)
		if err != nil {
			return nil, err
		}
		engines = append(engines, e)
	}
	return engines, nil
}

func (f *engineFlags) check() error {
	onRig := f.name == enginePerftest || f.name == engineCollie
	switch {
	case !slices.Contains([]string{engineSimulated, engineExec, enginePerftest, engineCollie}, f.name):
		return fmt.Errorf("--engine %q: want simulated, exec, perftest or collie-engine", f.name)
	case f.name == engineExec && strings.TrimSpace(f.command) == "":
		return errors.New("--engine exec needs --command, a program that speaks the engine protocol")
	case f.name != engineExec && f.command != "":
		return fmt.Errorf("--command is for --engine exec, not for %s", f.name)
	case onRig && f.rig == "":
		return fmt.Errorf("--engine %s needs --rig, a YAML file with the pairs of hosts", f.name)
	case !onRig && f.rig != "":
		return fmt.Errorf("--rig is for --engine perftest and collie-engine, not for %s", f.name)
	}
	return nil
}

// openOne creates the engine of a pair, counted from 0.
func (f *engineFlags) openOne(pair int, rig *engine.Rig, log *slog.Logger) (engine.Engine, error) {
	log = log.With("pair", pair+1)
	switch f.name {
	case engineExec:
		cfg := engine.DefaultExecConfig(strings.Fields(f.command))
		cfg.Timeout, cfg.Restarts = f.timeout, f.restarts
		return engine.NewExec(cfg, log)
	case enginePerftest:
		return engine.NewPerftest(rig, pair, log)
	case engineCollie:
		return engine.NewCollie(rig, pair, log)
	}
	return engine.NewSimulated(engine.SimulatedConfig{Subsystem: f.subsystem, Seed: f.noiseSeed + uint64(pair), Flaky: f.flaky, Latency: f.latency})
}
