package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/store/read"
)

func newSearchList(g *globals) *cobra.Command {
	var fabric string
	var since time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [ID]",
		Short: "List the searches that agents were sent, or one with its findings",
		Example: `  giverny search list --since 168h
  giverny search list B6ZT2LQ3W5SJ7C4RA6X2EYKN4D --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return app.New(cfg, version, log).Reading(cmd.Context(), fabric, func(ctx context.Context, m *read.Model, fabric string) error {
				if len(args) == 1 {
					return listOne(ctx, cmd.OutOrStdout(), m, fabric, args[0], asJSON)
				}
				list, err := m.Searches(ctx, fabric, read.Past(time.Now(), since), read.MaxSearches)
				if err != nil {
					return err
				}
				return printSearches(cmd.OutOrStdout(), list, asJSON)
			})
		},
	}
	fabricFlag(cmd.Flags(), &fabric)
	cmd.Flags().DurationVar(&since, "since", 30*24*time.Hour, "searches requested within this time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per search, or per finding of one")
	return cmd
}

func printSearches(w io.Writer, list []read.Search, asJSON bool) error {
	if asJSON {
		return printLines(w, list)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEARCH\tREQUESTED (UTC)\tBY\tREGION\tSUBSYSTEM\tAGENT\tSTATUS\tEXPERIMENTS\tANOMALIES")
	for i := range list {
		s := &list[i]
		region := ""
		if s.Region != 0 {
			region = strconv.FormatUint(s.Region, 10)
		}
		common := fmt.Sprintf("%s\t%s\t%s\t%s\t%v", s.ID, s.Requested.Time().Format(time.DateTime), s.Principal, region, s.Subsystem)
		for _, a := range s.Agents {
			experiments := fmt.Sprintf("%d of %d", a.Experiments, s.Budget)
			if len(s.Restrict) > 0 {
				experiments += ", restricted"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", common, a.Agent, strings.TrimSuffix(string(a.Status)+": "+a.Reason, ": "), experiments, a.Anomalies)
		}
		if len(s.Agents) == 0 {
			fmt.Fprintf(table, "%s\t\tno answer\t\t\n", common)
		}
	}
	return table.Flush()
}

func listOne(ctx context.Context, w io.Writer, m *read.Model, fabric, id string, asJSON bool) error {
	s, findings, err := app.StoredSearch(ctx, m, fabric, id)
	if err != nil {
		return err
	}
	if asJSON {
		return printLines(w, findings)
	}
	if err := printSearches(w, []read.Search{s}, false); err != nil {
		return err
	}
	if len(s.Restrict) > 0 {
		fmt.Fprintf(w, "searched within %s\n", s.Restrict)
	}
	for i := range findings {
		f := &findings[i]
		fmt.Fprintf(w, "experiment %d: %s\n", f.Experiment, schema.OneLine(report.SentenceOf(f.MFS, f.Symptom)))
	}
	return nil
}

func newSearchCancel(g *globals) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop a search that agents carry out",
		Long: `Stop a search on agents. Its findings so far are kept. The command ends as soon as
the agent that runs the search answers, or after --wait.`,
		Example: "  giverny search cancel B6ZT2LQ3W5SJ7C4RA6X2EYKN4D",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := json.Marshal(command.CancelArguments{ID: args[0]})
			if err != nil {
				return err
			}
			f.arguments = arguments
			answers, err := g.askAgents(cmd, &f, command.KindCancel, stopsIt)
			if err != nil {
				return err
			}
			answers = slices.DeleteFunc(answers, func(a command.Answer) bool { return !stopsIt(&a.CommandResult) })
			for i := range answers {
				fmt.Fprintf(cmd.OutOrStdout(), "%s stops it\n", answers[i].Agent)
			}
			if len(answers) == 0 {
				return fmt.Errorf("no agent that answered is running %s", args[0])
			}
			return nil
		},
	}
	const wait = 10 * time.Second // also its validity
	f.register(cmd, wait)
	return cmd
}

// stopsIt reports whether an agent was running what it had to cancel.
func stopsIt(r *schema.CommandResult) bool {
	var output struct {
		Running bool `json:"running"`
	}
	return json.Unmarshal(r.Output, &output) == nil && output.Running
}
