package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/giverny/giverny/schema"
)

// launchOptions are the flags that hostping launch and search launch have in common.
type launchOptions struct {
	fabric, region, host string
	duration             time.Duration
	again, dryRun, json  bool
}

// register adds the flags. done is what happens to a root, section the key of the defaults in the
// configuration, running what --again ignores.
func (o *launchOptions) register(flags *pflag.FlagSet, done, section, running string) {
	flags.StringVar(&o.fabric, "fabric", "", "the fabric; may be left out if there is only one")
	flags.StringVar(&o.region, "region", "", "the region whose root is "+done)
	flags.StringVar(&o.host, "host", "", "an agent or a device instead of a region's root")
	flags.DurationVar(&o.duration, "duration", 0, "longest time ("+section+".duration)")
	flags.BoolVar(&o.again, "again", false, "launch even if "+running)
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be sent, and ask the agent whether it would take it")
	flags.BoolVar(&o.json, "json", false, "one JSON object")
}

// regionOf reads the flag --region; 0 where it is not given.
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

// printWouldSend shows the command of a dry run.
func printWouldSend(w io.Writer, c *schema.Command) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "would send\n%s\n", text)
	return err
}

// printTaken says what an agent answered to a command, or to its dry run.
func printTaken(w io.Writer, dryRun bool, what, agent, id string, status schema.CommandStatus, reason string) {
	switch {
	case dryRun && status == schema.CommandDone:
		fmt.Fprintf(w, "%s would take it\n", agent)
	case dryRun:
		fmt.Fprintf(w, "%s would not take it: %s: %s\n", agent, status, reason)
	case status != "":
		fmt.Fprintf(w, "%s %s: %s\n", what, id, status)
	}
}
