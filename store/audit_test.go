//go:build engine || integration

package store

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
)

const auditedAt = schema.Instant(1_767_571_200_123_456_789)

// auditedOf returns a row of each table of the audit, with a given name.
func auditedOf(name string) (command schema.SeenCommand, result schema.CommandResult, step schema.SearchStep, host order.Step, run report.Published, hardware schema.HardwareReport, action schema.FeedbackAction) {
	command = schema.SeenCommand{Command: schema.Command{ID: name, Kind: "noop"}, Seen: auditedAt}
	result = schema.CommandResult{CommandID: name, Agent: "a", Status: schema.CommandDone, Time: auditedAt}
	step = schema.SearchStep{SearchID: name, Agent: "a", Status: schema.CommandDone, Time: auditedAt}
	step.Report.Findings = []schema.SearchFinding{{Experiment: 3}}
	host = order.Step{RunID: name, Agent: name, Time: auditedAt}
	host.Outcome.Baseline = &hostping.Baseline{}
	run = report.Published{RunID: name, Agent: "a", Time: auditedAt}
	hardware = schema.HardwareReport{Agent: name, Time: auditedAt, Hardware: schema.HostHardware{Adapters: []schema.Adapter{{Name: "mlx5_0"}}}}
	action = schema.FeedbackAction{Target: name, Sink: "slurm", Action: "mark", Time: auditedAt}
	return command, result, step, host, run, hardware, action
}

// If an engine has only the token of an insert, the audit still stores the rows, once, however often they are sent and with
// whatever other rows.
func TestAuditOfWhichTheTokenAloneIsThere(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	for _, lost := range []bool{false, true} {
		fabric := fmt.Sprint("lost ", lost)
		command, result, step, host, run, hardware, action := auditedOf("x")
		c2, r2, s2, h2, p2, w2, a2 := auditedOf("y")
		found, adapter := foundBy{&step, step.Report.Findings[0]}, adapterOf{&hardware, hardware.Hardware.Adapters[0]}
		if lost {
			noteAudit(t, db, &auditedCommands, fabric, command)
			noteAudit(t, db, &auditedResults, fabric, result)
			noteAudit(t, db, &auditedSteps, fabric, step)
			noteAudit(t, db, &auditedFindings, fabric, found)
			noteAudit(t, db, &auditedHostRuns, fabric, host)
			noteAudit(t, db, &auditedBaselines, fabric, host)
			noteAudit(t, db, &auditedCollectives, fabric, run)
			noteAudit(t, db, &auditedHardware, fabric, adapter)
			noteAudit(t, db, &auditedActions, fabric, action)
		}
		for n := range 3 { // the second time the same again, then with others
			commands, results, steps, hosts, runs, reports, actions := []schema.SeenCommand{command}, []schema.CommandResult{result}, []schema.SearchStep{step}, []order.Step{host}, []report.Published{run}, []schema.HardwareReport{hardware}, []schema.FeedbackAction{action}
			if n == 2 {
				commands, results, steps, hosts, runs, reports, actions = append(commands, c2), append(results, r2), append(steps, s2), append(hosts, h2), append(runs, p2), append(reports, w2), append(actions, a2)
			}
			for _, err := range []error{
				db.StoreCommands(ctx, fabric, commands), db.StoreCommandResults(ctx, fabric, results), db.StoreSearchSteps(ctx, fabric, steps), db.StoreHostRuns(ctx, fabric, hosts),
				db.StoreCollectives(ctx, fabric, runs), db.StoreHardware(ctx, fabric, reports), db.StoreFeedback(ctx, fabric, actions),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, table := range []string{commandsTable, resultsTable, auditedSteps.table, auditedFindings.table, hostRunsTable, auditedBaselines.table, collectivesTable, hardwareTable, feedbackTable} {
				var got uint64
				if err := db.conn.QueryRow(ctx, "SELECT count() FROM "+table+" WHERE fabric = '"+fabric+"'").Scan(&got); err != nil {
					t.Fatal(err)
				}
				if want := uint64(1 + n/2); got != want {
					t.Errorf("%s: %s has %d rows after %d times, want %d", fabric, table, got, n+1, want)
				}
			}
		}
	}
}

// noteAudit makes the engine record the token of a row's insert, but not the row.
func noteAudit[R any, K comparable](t *testing.T, db testDB, a *audited[R, K], fabric string, row R) {
	t.Helper()
	rows := []R{row}
	if err := db.writer.insert(t.Context(), a.table, a.complete(db.DB, "elsewhere", rows), auditKey(fabric, rows, a.key), 0); err != nil {
		t.Fatal(err)
	}
}

// More rows than fit in one query.
func TestManyAuditedRows(t *testing.T) {
	db := migratedDB(t)
	var actions []schema.FeedbackAction
	for n := range 2*askedOf + 1 {
		actions = append(actions, schema.FeedbackAction{Time: auditedAt + schema.Instant(n), Target: "n1"})
	}
	for range 2 {
		if err := db.StoreFeedback(t.Context(), "bw", actions); err != nil {
			t.Fatal(err)
		}
	}
	var got uint64
	if err := db.conn.QueryRow(t.Context(), "SELECT count() FROM "+feedbackTable).Scan(&got); err != nil || got != uint64(len(actions)) {
		t.Errorf("%d rows, want %d: %v", got, len(actions), err)
	}
}
