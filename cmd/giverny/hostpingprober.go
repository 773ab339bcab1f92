package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/prober"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/hostping/simulated"
	"github.com/giverny/giverny/hostping/utilisation"
	"github.com/giverny/giverny/internal/config"
)

// Names of probers.
const (
	proberSimulated = "simulated"
	proberExec      = "exec"
	proberPerftest  = "perftest"
)

// proberFlags are the host to probe and its prober.
type proberFlags struct {
	host, format, name, command string
	timeout, runTimeout         time.Duration
	largeBytes, writes          int
	seed                        uint64
	faults, busy                []string
}

func (f *proberFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.host, "host", "", "the host's description, as for giverny hostping graph; --prober simulated has simulated:fig2 by default")
	flags.StringVar(&f.format, "format", "", "format of --host: hwloc, nccl or nvidia-smi; empty: detected from the text")
	flags.StringVar(&f.name, "prober", proberExec, "program that probes: exec, perftest or simulated")
	flags.StringVar(&f.command, "command", "", "exec: the program and its arguments, split at blanks; no shell is used")
	flags.DurationVar(&f.timeout, "probe-timeout", 10*time.Second, "limit of one probe; a pair whose probe takes longer is left out")
	flags.DurationVar(&f.runTimeout, "timeout", 5*time.Minute, "limit of all probes; the remaining pairs are left out")
	flags.IntVar(&f.writes, "writes", prober.DefaultPerftestConfig().Writes, "perftest: writes per repetition of a probe, 5 or more; fewer make probes of a slow host shorter")
	if cmd.Name() == "baseline" {
		flags.IntVar(&f.largeBytes, "large-bytes", hostping.LargeBytes, "size of the large message; a run uses that of its baseline")
	}
	flags.Uint64Var(&f.seed, "seed", 1, "simulated: seed of the host and its noise")
	flags.StringArrayVar(&f.faults, "fault", nil, "simulated: bottleneck,place,share: place is a link, or an RNIC for ats_disabled, rnic_slow_start and tx_window_too_small; share is what is left of the line rate, or used of an overloaded link; may be repeated")
	flags.StringArrayVar(&f.busy, "busy", nil, "simulated: RNIC=share of its service traffic; may be repeated")
}

// graph checks the flags and reads the host.
func (f *proberFlags) graph() (hostping.Graph, error) {
	if f.host == "" && f.name == proberSimulated {
		f.host = simulatedHost + simulated.Machines()[0].Name
	}
	if err := f.check(); err != nil {
		return hostping.Graph{}, err
	}
	return readHost(f.host, f.format)
}

// open creates the prober of checked flags. A program is started at the first probe.
func (f *proberFlags) open(g *hostping.Graph, cmd *cobra.Command) (run.Prober, error) {
	log := newLog(cmd, config.Default().Log)
	switch f.name {
	case proberExec:
		cfg := prober.DefaultExecConfig(strings.Fields(f.command))
		cfg.Timeout = f.timeout
		return prober.NewExec(cfg, log)
	case proberPerftest:
		source := utilisation.New(utilisation.DefaultConfig(), g, &utilisation.RNICs{Now: time.Now})
		cfg := prober.DefaultPerftestConfig()
		cfg.Writes = f.writes
		return prober.NewPerftest(cfg, source, log)
	}
	return f.simulated(g)
}

func (f *proberFlags) check() error {
	switch {
	case f.host == "":
		return errors.New("--host is missing: name the output of lstopo --of xml, NCCL_TOPO_DUMP_FILE or nvidia-smi topo -m")
	case !slices.Contains([]string{proberExec, proberPerftest, proberSimulated}, f.name):
		return fmt.Errorf("--prober %q: want exec, perftest or simulated", f.name)
	case f.name == proberExec && strings.TrimSpace(f.command) == "":
		return errors.New("--prober exec needs --command, a program that speaks the prober protocol")
	case strings.HasPrefix(f.host, simulatedHost) && f.name != proberSimulated:
		return fmt.Errorf("--host %s is for --prober simulated, not for %s", f.host, f.name)
	case f.name != proberExec && f.command != "":
		return fmt.Errorf("--command is for --prober exec, not for %s", f.name)
	case f.name != proberSimulated && len(f.faults)+len(f.busy) > 0:
		return fmt.Errorf("--fault and --busy are for --prober simulated, not for %s", f.name)
	case f.timeout <= 0 || f.runTimeout <= 0:
		return errors.New("--probe-timeout and --timeout must be above 0")
	case f.largeBytes != 0 && (f.largeBytes < 1024 || f.largeBytes > 64<<20):
		return fmt.Errorf("--large-bytes %d: want 1024 to %d", f.largeBytes, 64<<20)
	}
	return nil
}

// simulated creates a simulated host.
func (f *proberFlags) simulated(g *hostping.Graph) (run.Simulated, error) {
	host := simulated.New(simulated.DefaultConfig(), *g, f.seed)
	for _, text := range f.faults {
		fault, err := parseFault(g, text)
		if err != nil {
			return run.Simulated{}, fmt.Errorf("--fault %q: %w", text, err)
		}
		host.Inject(fault)
	}
	for _, text := range f.busy {
		rnic, share, _ := strings.Cut(text, "=")
		busy, err := strconv.ParseFloat(share, 64)
		switch {
		case err != nil || !(busy >= 0 && busy <= 1):
			return run.Simulated{}, fmt.Errorf("--busy %q: want RNIC=share, a share from 0 to 1", text)
		case !slices.ContainsFunc(g.RNICs, func(r hostping.RNIC) bool { return r.ID == rnic }):
			return run.Simulated{}, fmt.Errorf("--busy %q: the host has no RNIC %q; giverny hostping graph lists them", text, rnic)
		}
		host.SetBusy(rnic, busy)
	}
	return run.Simulated{Host: host}, nil
}

// parseFault parses bottleneck,place,share. The share is a half if it is left out.
func parseFault(g *hostping.Graph, text string) (simulated.Fault, error) {
	bottleneck, rest, _ := strings.Cut(text, ",")
	place, last, _ := strings.Cut(rest, ",")
	share := 0.5
	if last != "" {
		var err error
		if share, err = strconv.ParseFloat(last, 64); err != nil || !(share > 0 && share <= 1) {
			return simulated.Fault{}, errors.New("want a share above 0, up to 1")
		}
	}
	return simulated.NewFault(g, hostping.Bottleneck(bottleneck), place, share)
}
