// Package ledger makes rows of the store of what passes over the bus of commands:
// the steps and findings of searches, and the hardware of agents' hosts. In go
// commands and results as the audit sees them. What is no search, or says nothing
// that can be read, makes no row: the audit has it all the same.
package ledger

import (
	"encoding/json"

	"github.com/giverny/giverny/schema"
)

// Requests are the searches that authentic commands ask for. A forged command makes no
// row, and without that row what is reported under its id counts for nothing.
func Requests(commands []schema.SeenCommand) (steps []schema.SearchStep) {
	for i := range commands {
		c := &commands[i]
		if c.Kind != schema.KindSearch || c.DryRun || c.Verified != schema.Verified && c.Verified != schema.NotVerified {
			continue
		}
		var r schema.SearchRequest
		if json.Unmarshal(c.Arguments, &r) != nil { // an agent will refuse it
			continue
		}
		steps = append(steps, schema.SearchStep{SearchID: c.ID, Status: schema.SearchRequested, Time: c.Issued, Principal: c.Principal, Reason: r.Reason,
			Report: schema.SearchReport{Engine: r.Engine, Adapter: r.Adapter, Subsystem: r.Subsystem, Algorithm: r.Algorithm, Seed: r.Seed,
				Peers: r.Peers, Region: r.Region, Budget: r.Budget}})
	}
	return steps
}

// Steps are what agents answer to searches.
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

// Hardware is what agents that were listed say of their hosts.
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
