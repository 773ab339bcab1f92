package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/search/launch"
)

type searchLaunchFlags struct {
	launchOptions
	model, engine, algorithm, restrict string
	budget, peers                      int
	seed                               uint64
	all                                bool
}

func newSearchLaunch(g *globals) *cobra.Command {
	var f searchLaunchFlags
	cmd := &cobra.Command{
		Use:   "launch",
		Short: "Have agents search the NIC that a region begins at",
		Long: `Have agents search the NIC at which a region's back pressure begins.

The region's newest diagnosis names its root; the agents, asked over Kafka, say which
of them has that NIC, of what model and firmware. A host of the same model that is
free (search.launch.allow_hosts, or drained in Slurm) is sent a signed command, of the
kind search, with other free hosts as its peers. Its agent refuses what its own
configuration does not allow (command.allow, search.offer).

With --dry-run the command is printed and not sent; the agent that would accept it is
asked whether it would.`,
		Example: `  giverny search launch --region 1882497176567809 --dry-run
  giverny search launch --nic-model MT4129 --budget 600 --duration 4h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			want, err := f.want()
			if err != nil {
				return err
			}
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return app.New(cfg, version, log).LaunchingSearches(cmd.Context(), f.fabric, func(ctx context.Context, l *launch.Launcher) error {
				return f.launch(ctx, cmd.OutOrStdout(), l, want)
			})
		},
	}
	flags := cmd.Flags()
	f.register(flags, "searched", "search.launch", "a search of this subsystem is running")
	flags.StringVar(&f.model, "nic-model", "", "a NIC model instead of a root")
	flags.StringVar(&f.engine, "engine", "", "engine of the agents (search.launch.engine)")
	flags.StringVar(&f.algorithm, "algorithm", "", "lift, collie, collie-extreme or random")
	flags.StringVar(&f.restrict, "restrict", "", "YAML: the values of the workload's dimensions to search within")
	flags.IntVar(&f.budget, "budget", 0, "experiments (search.launch.budget)")
	flags.IntVar(&f.peers, "peers", -1, "other hosts of the same model (search.launch.peers)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random choices")
	flags.BoolVar(&f.all, "search-known", false, "also search for the known anomalies of the subsystem")
	return cmd
}

func (f *searchLaunchFlags) want() (w launch.Want, err error) {
	if err := f.check("target", option{"--nic-model", f.model}); err != nil {
		return w, err
	}
	if f.budget < 0 {
		return w, fmt.Errorf("--budget %d: want 1 or more", f.budget)
	}
	w = launch.Want{Host: f.host, NICModel: f.model, Engine: f.engine, Algorithm: f.algorithm, Budget: f.budget, Peers: f.peers, Duration: f.duration,
		Seed: f.seed, SkipKnown: !f.all}
	if w.Diagnosis.Region, err = regionOf(f.region); err != nil {
		return w, err
	}
	if f.restrict == "" {
		return w, nil
	}
	_, text, err := readRestriction(f.restrict)
	if err != nil {
		return w, err
	}
	var limits map[string]any
	if err := yaml.Unmarshal(text, &limits); err != nil {
		return w, fmt.Errorf("%s: %w", f.restrict, err)
	}
	w.Restrict = map[string]json.RawMessage{}
	for name, limit := range limits {
		if w.Restrict[name], err = json.Marshal(limit); err != nil {
			return w, fmt.Errorf("%s: %q: %w", f.restrict, name, err)
		}
	}
	return w, nil
}

// searchLaunched is the output of the command with --json.
type searchLaunched struct {
	dispatched
	Choice launch.Choice `json:"choice"`
}

func (f *searchLaunchFlags) launch(ctx context.Context, w io.Writer, l *launch.Launcher, want launch.Want) error {
	var err error
	if want.Diagnosis, err = l.Diagnosis(ctx, want.Diagnosis.Region); err != nil {
		return err
	}
	plan, err := l.Plan(ctx, want)
	if err != nil {
		return err
	}
	chosen := &plan.Choice
	if running, err := l.Running(ctx, chosen.Subsystem); err != nil {
		return err
	} else if running != nil && !f.again {
		return fmt.Errorf("search %s of %v is still running; wait, cancel it, or use --again", running.ID, chosen.Subsystem)
	}
	sent, refused := f.dispatch(ctx, l.Dispatcher, plan.Root, &plan.Command, chosen.Agent)
	if f.json {
		return errors.Join(json.NewEncoder(w).Encode(&searchLaunched{sent, *chosen}), refused)
	}
	rows := [][2]string{{"searches", fmt.Sprintf("%s, adapter %s, %v", chosen.Agent, chosen.Adapter, chosen.Subsystem)}}
	if len(chosen.Peers) > 0 {
		rows = append(rows, [2]string{"peers", strings.Join(chosen.Peers, ", ")})
	}
	for _, p := range chosen.Passed {
		rows = append(rows, [2]string{"passed", p.Agent + " " + p.Why})
	}
	return errors.Join(sent.print(w, "search", chosen.Agent, rows), refused)
}
