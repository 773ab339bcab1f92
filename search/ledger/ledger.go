// Package ledger converts messages of the command bus into rows of the store: the steps
// and findings of searches, and the hardware of agents' hosts. The input is commands
// and results as seen by the audit. Messages that are not about searches, or
// unreadable, produce no row; the audit has them anyway.
package ledger

import (
	"encoding/json"

	"github.com/giverny/giverny/schema"
)

// Requests returns the searches requested by authentic commands. A forged command
// produces no row, and without that row, reports under its id are ignored.
func Requests(commands []schema.SeenCommand) (steps []schema.SearchStep) {
	for i := range commands {
		c := &commands[i]
		if c.Kind != schema.KindSearch || c.DryRun || c.Verified != schema.Verified && c.Verified != schema.NotVerified {
			continue
		}
		var r schema.SearchRequest
		if json.Unmarshal(c.Arguments, &r) != nil { // the agent will refuse it
			continue
		}
		steps = append(steps, schema.SearchStep{SearchID: c.ID, Status: schema.SearchRequested, Time: c.Issued, Principal: c.Principal, Reason: r.Reason,
			Report: schema.SearchReport{Engine: r.Engine, Adapter: r.Adapter, Subsystem: r.Subsystem, Algorithm: r.Algorithm, Seed: r.Seed,
				Peers: r.Peers, Region: r.Region, Budget: r.Budget}})
	}
	return steps
}

// Steps returns the agents' answers to searches.
func Steps(results []schema.CommandResult) (steps []schema.SearchStep) {
	for i := range results {
		r := &results[i]
		if r.Kind != schema.KindSearch {
			continue
		}
		step := schema.SearchStep{SearchID: r.CommandID, Agent: r.Agent, Status: r.Status, Sequence: r.Sequence, Time: r.Time, Reason: r.Reason}
		if len(r.Output) > 0 && json.Unmarshal(r.Output, &step.Report) != nil {
			continue
		}
		steps = append(steps, step)
	}
	return steps
}

// Hardware returns what listed agents report about their hosts.
func Hardware(results []schema.CommandResult) (reports []schema.HardwareReport) {
	for i := range results {
		r := &results[i]
		if r.Kind != schema.KindAgentsList || r.Status != schema.CommandDone {
			continue
		}
		var status struct {
			Hardware schema.HostHardware `json:"hardware"`
		}
		if json.Unmarshal(r.Output, &status) == nil && len(status.Hardware.Adapters) > 0 {
			reports = append(reports, schema.HardwareReport{Agent: r.Agent, Time: r.Time, Hardware: status.Hardware})
		}
	}
	return reports
}
