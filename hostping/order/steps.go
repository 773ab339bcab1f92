package order

import (
	"encoding/json"
	"strings"

	"github.com/giverny/giverny/schema"
)

// monitorPrefix begins the ids of runs that no command has asked for.
const monitorPrefix = "monitor."

// MonitorID is the id of a run of an agent's own monitor.
func MonitorID(agent string, at schema.Instant) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, agent)
	const longest = 32
	return monitorPrefix + clean[:min(len(clean), longest)] + "." + at.Time().Format("20060102T150405.000")
}

// ofMonitor says whether a run's id is of a monitor's making.
func ofMonitor(id string) bool { return strings.HasPrefix(id, monitorPrefix) }

// Requests are the runs that authentic commands ask for. A forged command makes no
// step, and without that step what is answered under its id counts for nothing.
func Requests(commands []schema.SeenCommand) (steps []Step) {
	for i := range commands {
		c := &commands[i]
		if c.Kind != Kind || c.DryRun || ofMonitor(c.ID) || c.Verified != schema.Verified && c.Verified != schema.NotVerified {
			continue
		}
		var r Request
		if json.Unmarshal(c.Arguments, &r) != nil { // an agent will refuse it
			continue
		}
		steps = append(steps, Step{RunID: c.ID, Status: Requested, Time: c.Issued, Principal: c.Principal, Reason: r.Reason,
			Outcome: Outcome{Trigger: Commanded, Mode: r.Mode, Region: r.Region}})
	}
	return steps
}

// Steps are what agents answer, and what their monitors report.
func Steps(results []schema.CommandResult) (steps []Step) {
	for i := range results {
		r := &results[i]
		if r.Kind != Kind || r.Status == schema.CommandProgress {
			continue
		}
		step := Step{RunID: r.CommandID, Agent: r.Agent, Status: r.Status, Time: r.Time, Reason: r.Reason}
		if len(r.Output) > 0 && json.Unmarshal(r.Output, &step.Outcome) != nil {
			continue
		}
		if own := step.Outcome.Trigger != Commanded && len(r.Output) > 0; own != ofMonitor(r.CommandID) {
			continue // a monitor obeys no command, and a command is no monitor's
		}
		steps = append(steps, step)
	}
	return steps
}
