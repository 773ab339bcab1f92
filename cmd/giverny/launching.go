package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/giverny/giverny/schema"
)

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
