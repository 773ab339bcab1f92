package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/schema"
)

// launchOptions are the flags shared by hostping launch and search launch.
type launchOptions struct {
	fabric, region, host string
	duration             time.Duration
	again, dryRun, json  bool
}

// register adds the flags. done is what happens to a root, section the configuration key of the
// defaults, running what --again ignores.
func (o *launchOptions) register(flags *pflag.FlagSet, done, section, running string) {
	fabricFlag(flags, &o.fabric)
	flags.StringVar(&o.region, "region", "", "the region whose root is "+done)
	flags.StringVar(&o.host, "host", "", "an agent or a device instead of a region's root")
	flags.DurationVar(&o.duration, "duration", 0, "longest time ("+section+".duration)")
	flags.BoolVar(&o.again, "again", false, "launch even if "+running)
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be sent, and ask the agent whether it would accept it")
	flags.BoolVar(&o.json, "json", false, "one JSON object")
}

// check returns what is wrong with the flags: what is the target, that one of --region, --host and others must name.
func (o *launchOptions) check(what string, others ...option) error {
	if o.duration < 0 {
		return fmt.Errorf("--duration %v: want a positive duration", o.duration)
	}
	return exactlyOne(what, append([]option{{"--region", o.region}, {"--host", o.host}}, others...)...)
}

// option is a flag and its value, empty if it is not given.
type option struct{ name, value string }

// exactlyOne returns an error unless one of the options is given. what names what none of them would leave open.
func exactlyOne(what string, options ...option) error {
	var all, given []string
	for _, o := range options {
		all = append(all, o.name)
		if o.value != "" {
			given = append(given, o.name)
		}
	}
	switch len(given) {
	case 0:
		return fmt.Errorf("no %s given: use one of %s", what, strings.Join(all, ", "))
	case 1:
		return nil
	}
	return fmt.Errorf("%s cannot be combined: each names a %s, give one", strings.Join(given, " and "), what)
}

// regionOf parses the flag --region; 0 if it is not given.
func regionOf(flag string) (uint64, error) {
	if flag == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(flag, 10, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("--region %q: want the id of a region, a number", flag)
	}
	return id, nil
}

// dispatched is the outcome of a launch.
type dispatched struct {
	DryRun  bool                 `json:"dry_run"`
	Root    dispatch.Root        `json:"root"`
	Command schema.Command       `json:"command"`
	Status  schema.CommandStatus `json:"status"`
	Reason  string               `json:"reason,omitempty"`
}

// dispatch sends a command to an agent; with --dry-run it asks whether the agent would accept it. The error says why
// it was not sent or not accepted.
func (o *launchOptions) dispatch(ctx context.Context, d *dispatch.Dispatcher, root dispatch.Root, c *schema.Command, agent string) (dispatched, error) {
	out := dispatched{DryRun: o.dryRun, Root: root, Command: *c}
	var err error
	if o.dryRun {
		out.Status, out.Reason, err = d.Try(ctx, c)
	} else {
		var answer command.Answer
		answer, err = d.Send(ctx, c, agent)
		out.Status, out.Reason = answer.Status, answer.Reason
	}
	return out, err
}

// print writes the root, the rows that describe the choice, and the agent's answer.
func (d *dispatched) print(w io.Writer, what, agent string, chosen [][2]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if d.Root.Device != "" {
		fmt.Fprintf(table, "root\t%s: %s of agent %s, %v\n", d.Root.Device, d.Root.Adapter, d.Root.Agent, d.Root.Subsystem)
	}
	for _, row := range chosen {
		fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if d.DryRun {
		text, err := json.MarshalIndent(&d.Command, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "would send\n%s\n", text)
	}
	switch {
	case d.DryRun && d.Status == schema.CommandDone:
		fmt.Fprintf(w, "%s would accept it\n", agent)
	case d.DryRun && d.Status == "":
		fmt.Fprintf(w, "%s: %s\n", agent, d.Reason)
	case d.DryRun:
		fmt.Fprintf(w, "%s would refuse it: %s: %s\n", agent, d.Status, d.Reason)
	case d.Status != "":
		fmt.Fprintf(w, "%s %s: %s\n", what, d.Command.ID, d.Status)
	}
	return nil
}
