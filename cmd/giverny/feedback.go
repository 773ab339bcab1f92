package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

func newFeedback(g *globals) *cobra.Command {
	cmd := newFolder("feedback", "List nodes that schedulers are asked to avoid, and restore those of a lost analyser")
	cmd.AddCommand(newFeedbackMarks(g), newFeedbackLift(g))
	return cmd
}

func newFeedbackMarks(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "marks",
		Short: "List the nodes that schedulers are asked to avoid",
		Long: `List the nodes that Slurm or Kubernetes is asked to avoid, from the audit in the store:
nodes that an analyser marked and has not restored. If an analyser's host is lost, its
nodes stay marked; giverny feedback lift restores them from another host.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return app.New(cfg, version, log).Marks(cmd.Context(), func(_ context.Context, marks []feedback.Mark, _ app.Lift) error {
				if asJSON {
					return printLines(cmd.OutOrStdout(), marks)
				}
				return printMarks(cmd.OutOrStdout(), marks, time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line")
	return cmd
}

func printMarks(w io.Writer, marks []feedback.Mark, now time.Time) error {
	if len(marks) == 0 {
		_, err := fmt.Fprintln(w, "no node is marked")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "SINK\tNODE\tFABRIC\tMARKED\tHELD HERE\tBEFORE\tREASON")
	for i := range marks {
		m := &marks[i]
		here := "no"
		if m.HeldHere {
			here = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%v ago\t%s\t%s\t%s\n", m.Sink, m.Target, m.Fabric, now.Sub(m.Time.Time()).Round(time.Second), here, m.Before, m.Reason)
	}
	return table.Flush()
}

type liftFlags struct {
	olderThan time.Duration
	all       bool
	nodes     []string
}

func newFeedbackLift(g *globals) *cobra.Command {
	var f liftFlags
	cmd := &cobra.Command{
		Use:   "lift (NODE... | --all)",
		Short: "Restore nodes marked by an analyser whose host is lost",
		Long: `Restore nodes that an analyser marked and can no longer restore itself because its host
is lost. What the mark changed is reverted where it is still as the analyser set it; later
changes by others stay. The outcome for each node is printed and written to the audit.

Nodes in the journal of this host's analyser are left to it. Marks younger than --older-than
are skipped, because their analyser may be running. A running analyser marks its nodes
again within a minute.

The configuration must have the same feedback section as the analyser's. giverny feedback
marks lists the marked nodes.`,
		Example: "  giverny feedback lift --all --older-than 2h",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return errors.New("--all is given, and nodes: use one of them")
			case !f.all && len(args) == 0:
				return errors.New("no nodes given: name them, or use --all; giverny feedback marks lists them")
			}
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			f.nodes = args
			return app.New(cfg, version, log).Marks(cmd.Context(), func(ctx context.Context, marks []feedback.Mark, lift app.Lift) error {
				return f.lift(ctx, cmd.OutOrStdout(), marks, lift)
			})
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all nodes that are marked")
	cmd.Flags().DurationVar(&f.olderThan, "older-than", time.Hour, "only marks that are at least this old")
	return cmd
}

// lift restores the chosen nodes and prints the outcome for each.
func (f *liftFlags) lift(ctx context.Context, w io.Writer, marks []feedback.Mark, lift app.Lift) error {
	var chosen []schema.FeedbackAction
	left, unknown, now := 0, 0, time.Now()
	for i := range marks {
		m := &marks[i]
		if !f.all && !slices.Contains(f.nodes, m.Target) {
			continue
		}
		switch age := now.Sub(m.Time.Time()); {
		case m.HeldHere:
			fmt.Fprintf(w, "%s %s: skipped: it is in the journal of this host's analyser, which restores it\n", m.Sink, m.Target)
			left++
		case age < f.olderThan:
			fmt.Fprintf(w, "%s %s: skipped: marked %v ago; --older-than is %v\n", m.Sink, m.Target, age.Round(time.Second), f.olderThan)
			left++
		default:
			chosen = append(chosen, m.FeedbackAction)
		}
	}
	for _, node := range f.nodes {
		if !slices.ContainsFunc(marks, func(m feedback.Mark) bool { return m.Target == node }) {
			fmt.Fprintf(w, "%s: not marked\n", node)
			unknown++
		}
	}
	acts, err := lift(ctx, chosen, "lifted by "+person())
	failed, back := 0, 0
	for i := range acts {
		a := &acts[i]
		switch {
		case a.Outcome == schema.FeedbackFailed:
			failed++
			fmt.Fprintf(w, "%s %s: failed: %s\n", a.Sink, a.Target, a.Reason)
		case a.Action == reconcile.ActionRelieve:
			back++
			fmt.Fprintf(w, "%s %s: restored\n", a.Sink, a.Target)
		default:
			left++
			fmt.Fprintf(w, "%s %s: skipped: %s\n", a.Sink, a.Target, a.Reason)
		}
	}
	fmt.Fprintf(w, "%s restored, %d failed, %d skipped\n", plural.Count(back, "node", "nodes"), failed, left)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s not restored; see the scheduler's errors above", plural.Count(failed, "node", "nodes"))
	}
	if err == nil && unknown > 0 {
		err = fmt.Errorf("%s not marked; giverny feedback marks lists the marked ones", plural.Count(unknown, "node is", "nodes are"))
	}
	return err
}

// person is the user of this process, for the audit.
func person() string {
	name, host := "somebody", "this host"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + " on " + host
}
