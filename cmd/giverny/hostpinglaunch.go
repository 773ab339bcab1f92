package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping/launch"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/internal/app"
)

type hostLaunchFlags struct {
	launchOptions
	full, baseline bool
}

func newHostpingLaunch(g *globals) *cobra.Command {
	var f hostLaunchFlags
	cmd := &cobra.Command{
		Use:   "launch",
		Short: "Have the agent at a region's root probe its host",
		Long: `Have the agent of the host at which a region's back pressure begins probe that host.

The region's newest diagnosis names its root; the agents, asked over Kafka, say which
of them it is. If it may be probed (hostping.launch.allow_hosts, or drained in Slurm)
it is sent a signed command of the kind hostping. Its agent refuses what its own
configuration does not allow (command.allow, hostping.offer). On a host in use, only
the RNIC at the root is probed, with its own endpoints; on a host that is drained, or
named by --host, every pair is probed. The outcome goes to the store: giverny hostping
fleet and the diagnosis of the region show it.

With --baseline the host measures a baseline of its model, which the store keeps and
later commands bring to hosts that have none of their own.

With --dry-run the command is printed and not sent; the agent is asked whether it
would accept it.`,
		Example: `  giverny hostping launch --region 1882497176567809 --dry-run
  giverny hostping launch --host gpu-17
  giverny hostping launch --host gpu-17 --baseline`,
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
			return app.New(cfg, version, log).LaunchingProbes(cmd.Context(), f.fabric, func(ctx context.Context, l *launch.Launcher) error {
				return f.launch(ctx, cmd.OutOrStdout(), l, want)
			})
		},
	}
	flags := cmd.Flags()
	f.register(flags, "probed", "hostping.launch", "a run of this host is in progress")
	flags.BoolVar(&f.full, "full", false, "probe every pair, even if the host is in use; while RNICs are busy, only their own endpoints are measured")
	flags.BoolVar(&f.baseline, "baseline", false, "measure a baseline of the host's model")
	return cmd
}

func (f *hostLaunchFlags) want() (w launch.Want, err error) {
	if err := f.check("host"); err != nil {
		return w, err
	}
	if f.full && f.baseline {
		return w, errors.New("--full and --baseline cannot be combined: a baseline always measures every pair")
	}
	w = launch.Want{Host: f.host, Duration: f.duration}
	if f.full {
		w.Mode = order.Full
	}
	if f.baseline {
		w.Mode = order.Baseline
	}
	w.Diagnosis.Region, err = regionOf(f.region)
	return w, err
}

// hostLaunched is the output of the command with --json.
type hostLaunched struct {
	dispatched
	Free    string        `json:"free"`
	Request order.Request `json:"request"`
}

func (f *hostLaunchFlags) launch(ctx context.Context, w io.Writer, l *launch.Launcher, want launch.Want) error {
	var err error
	if want.Diagnosis, err = l.Diagnosis(ctx, want.Diagnosis.Region); err != nil {
		return err
	}
	plan, err := l.Plan(ctx, want)
	if err != nil {
		return err
	}
	agent := plan.Root.Agent
	if running, err := l.Running(ctx, agent); err != nil {
		return err
	} else if running != nil && !f.again {
		return fmt.Errorf("run %s of %s is still in progress; wait, or use --again", running.RunID, agent)
	}
	sent, refused := f.dispatch(ctx, l.Dispatcher, plan.Root, &plan.Command, agent)
	if f.json {
		return errors.Join(json.NewEncoder(w).Encode(&hostLaunched{sent, plan.Free, plan.Request}), refused)
	}
	probed := map[order.Mode]string{order.Full: "every pair", order.Affinitive: plan.Request.RNIC + " to its own endpoints",
		order.Baseline: "every pair, for a baseline"}[plan.Request.Mode]
	return errors.Join(sent.print(w, "run", agent, [][2]string{{"probed", fmt.Sprintf("%s, %s (%s)", agent, probed, plan.Free)}}), refused)
}
