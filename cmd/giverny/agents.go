package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

func newAgents(g *globals) *cobra.Command {
	cmd := newFolder("agents", "List the agents of a fabric, refresh their device lists, generate keys")
	cmd.AddCommand(newAgentsList(g), newAgentsRefresh(g), newAgentsKey())
	return cmd
}

type agentFlags struct {
	fabric string
	target []string
	wait   time.Duration
	expect int
	json   bool

	arguments json.RawMessage // of the command
}

func (f *agentFlags) register(cmd *cobra.Command, wait time.Duration) {
	fabricFlag(cmd.Flags(), &f.fabric)
	cmd.Flags().StringSliceVar(&f.target, "target", []string{"*"}, "names of agents, or patterns such as gpu-*")
	cmd.Flags().DurationVar(&f.wait, "wait", wait, "how long to wait for answers")
}

// registerGathering adds the flags of commands that collect the answers of several agents.
func (f *agentFlags) registerGathering(cmd *cobra.Command, wait time.Duration) {
	f.register(cmd, wait)
	cmd.Flags().IntVar(&f.expect, "expect", 0, "number of agents that should answer: end when they have answered, and fail if fewer do")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object per agent")
}

// listWait is how long to wait for agents to report their presence.
const listWait = 3 * time.Second

func newAgentsList(g *globals) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents with their versions, sources and clock offsets",
		Long: `List the agents of a fabric: version, sources with their state, time of the last
reading, clock offset, and the data that wait in the spool for Kafka.

The command is signed with the key of command.sign. Agents answer only if its owner,
the principal, is listed in their configuration (command.principals).`,
		Example: "  giverny agents list --target 'gpu-*' --wait 5s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answers, err := g.askAgents(cmd, &f, command.KindList, nil)
			if err != nil {
				return err
			}
			if f.json {
				err = printAnswersJSON(cmd.OutOrStdout(), answers)
			} else {
				err = printAgents(cmd.OutOrStdout(), answers)
			}
			return errors.Join(err, f.tooFew(answers))
		},
	}
	f.registerGathering(cmd, listWait)
	return cmd
}

func newAgentsRefresh(g *globals) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Have agents look for their devices now",
		Long: `Make agents list their devices again instead of using their cached lists, after an
adapter was added or the subnet changed. Without this command they detect changes
themselves, perfquery within some minutes. Without --expect the agents are first
listed for 3 s, to find out how many answers to wait for.`,
		Example: "  giverny agents refresh --target smc1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.expect == 0 {
				there := f
				there.wait = listWait
				answers, err := g.askAgents(cmd, &there, command.KindList, nil)
				if err != nil {
					return err
				}
				f.expect = len(answers)
			}
			answers, err := g.askAgents(cmd, &f, command.KindRefresh, nil)
			if err != nil {
				return err
			}
			if f.json {
				err = printAnswersJSON(cmd.OutOrStdout(), answers)
			} else {
				err = printRefreshed(cmd.OutOrStdout(), answers)
			}
			return errors.Join(err, notDone(answers), f.tooFew(answers))
		},
	}
	f.registerGathering(cmd, 30*time.Second)
	return cmd
}

func newAgentsKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key that signs commands or results, or print the public half of one",
		Long: `Generate a private key (Ed25519, PEM) in a new file that only its owner may read,
and print its public key. If the file exists already, its public key is printed.

To sign commands, name the file in command.sign.key_file of the sender, and the
public key in command.principals of the agents. To sign the results of an agent, name
the file in its command.results.key_file, and the public key in
command.results.agents of the analysers and of the senders of commands. A public key
is not secret.`,
		Example: "  giverny agents key /etc/giverny/operator.pem",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := command.PublicKey(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				public, err = command.CreateKey(args[0])
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), public)
			return nil
		},
	}
}

// askAgents sends a command and collects the answers, until enough, if not nil, returns true.
func (g *globals) askAgents(cmd *cobra.Command, f *agentFlags, kind string, enough func(*schema.CommandResult) bool) ([]command.Answer, error) {
	cfg, log, err := g.load(cmd)
	if err != nil {
		return nil, err
	}
	order := command.Order{Kind: kind, Targets: f.target, Arguments: f.arguments, ValidFor: f.wait}
	return app.New(cfg, version, log).AskAgents(cmd.Context(), f.fabric, order, f.expect, enough)
}

// tooFew returns an error if fewer agents answered than expected.
func (f *agentFlags) tooFew(answers []command.Answer) error {
	if len(answers) >= f.expect {
		return nil
	}
	return fmt.Errorf("%s answered within %v, --expect is %d", plural.Count(len(answers), "agent", "agents"), f.wait, f.expect)
}

// agentLine is the JSON form of an answer.
type agentLine struct {
	Agent                  string               `json:"agent"`
	Fabric                 string               `json:"fabric"`
	Status                 schema.CommandStatus `json:"status"`
	Reason                 string               `json:"reason,omitempty"`
	ClockOffsetMillis      float64              `json:"clock_offset_ms"` // ahead of this host's
	ClockUncertaintyMillis float64              `json:"clock_uncertainty_ms"`
	Output                 json.RawMessage      `json:"output,omitempty"`
}

func printAnswersJSON(w io.Writer, answers []command.Answer) error {
	enc := json.NewEncoder(w)
	for i := range answers {
		a := &answers[i]
		offset, uncertainty := a.ClockOffset()
		if err := enc.Encode(agentLine{a.Agent, a.Fabric, a.Status, a.Reason, millis(offset), millis(uncertainty), a.Output}); err != nil {
			return err
		}
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / 1e6 }

func printAgents(w io.Writer, answers []command.Answer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "AGENT\tVERSION\tLAST READING\tCLOCK\tSPOOL\tSOURCES")
	for i := range answers {
		a := &answers[i]
		var s command.AgentStatus
		if a.Status != schema.CommandDone {
			fmt.Fprintf(table, "%s\t%s: %s\n", a.Agent, a.Status, a.Reason)
			continue
		}
		if err := json.Unmarshal(a.Output, &s); err != nil {
			return fmt.Errorf("answer of agent %s: %w", a.Agent, err)
		}
		offset, uncertainty := a.ClockOffset()
		fmt.Fprintf(table, "%s\t%s\t%s\t%+dms ±%dms\t%d\t%s\n", a.Agent, s.Version, age(a.Time, s.LastPoll()), offset.Milliseconds(),
			max(1, uncertainty.Milliseconds()), s.SpoolRecords, describeSources(s.Sources))
	}
	return table.Flush()
}

// age is the time since an event, both by the agent's clock.
func age(now, then schema.Instant) string {
	if then == 0 {
		return "none yet"
	}
	return time.Duration(now-then).Round(time.Second).String() + " ago"
}

func describeSources(sources []command.SourceStatus) string {
	var parts []string
	for i := range sources {
		s := &sources[i]
		text := fmt.Sprintf("%s %s, %d devices", s.Source, s.State, s.Devices)
		if len(s.Failing) > 0 {
			text += fmt.Sprintf(", %d of them failing", len(s.Failing))
		}
		if s.Error != "" {
			text += " (" + s.Error + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func printRefreshed(w io.Writer, answers []command.Answer) error {
	for i := range answers {
		a := &answers[i]
		if a.Status != schema.CommandDone {
			fmt.Fprintf(w, "%s  %s: %s\n", a.Agent, a.Status, a.Reason)
			continue
		}
		var r command.Refreshed
		if err := json.Unmarshal(a.Output, &r); err != nil {
			return fmt.Errorf("answer of agent %s: %w", a.Agent, err)
		}
		fmt.Fprintf(w, "%s  %s\n", a.Agent, describeSources(r.Sources))
	}
	return nil
}

// notDone returns an error if an agent did not do what was requested.
func notDone(answers []command.Answer) error {
	failed := 0
	for i := range answers {
		if answers[i].Status != schema.CommandDone {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of the %d agents that answered did not carry out the command", failed, len(answers))
	}
	return nil
}
