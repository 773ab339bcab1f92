package store

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

// foundBy is a finding with the search step that contains it.
type foundBy struct {
	step *schema.SearchStep
	schema.SearchFinding
}

// StoreSearchSteps stores steps of searches, each once by search, agent, status and sequence, and the findings in them. It
// retries until ctx ends.
func (db *DB) StoreSearchSteps(ctx context.Context, fabric string, steps []schema.SearchStep) error {
	var found []foundBy
	for i := range steps {
		if steps[i].Status != schema.SearchRequested {
			for _, f := range steps[i].Report.Findings {
				found = append(found, foundBy{&steps[i], f})
			}
		}
	}
	if err := auditedFindings.store(ctx, db, fabric, found); err != nil {
		return err
	}
	return auditedSteps.store(ctx, db, fabric, steps)
}

// stepKey deduplicates steps, findingKey findings.
type stepKey struct {
	Search   string `ch:"search_id"`
	Agent    string `ch:"agent"`
	Status   string `ch:"status"`
	Sequence uint32 `ch:"sequence"`
}

type findingKey struct {
	Search     string `ch:"search_id"`
	Agent      string `ch:"agent"`
	Experiment uint32 `ch:"experiment"`
	Revised    uint32 `ch:"revised"`
	At         int64  `ch:"at"`
}

var auditedSteps = audited[schema.SearchStep, stepKey]{table: "search_steps", columns: "search_id, agent, status, sequence", by: "search_id", of: "String",
	value: func(s *schema.SearchStep) string { return s.SearchID },
	key: func(s *schema.SearchStep) stepKey {
		return stepKey{s.SearchID, s.Agent, string(s.Status), s.Sequence}
	},
	fields: stepFields}

var auditedFindings = audited[foundBy, findingKey]{table: "search_findings", columns: "search_id, agent, experiment, revised, toUnixTimestamp64Nano(time) AS at", by: "search_id", of: "String",
	value: func(f *foundBy) string { return f.step.SearchID },
	key: func(f *foundBy) findingKey {
		return findingKey{f.step.SearchID, f.step.Agent, uint32(f.Experiment), uint32(f.Revised), int64(f.step.Time)}
	},
	fields: findingFields}

func stepFields(steps []schema.SearchStep) []field {
	text := func(of func(*schema.SearchStep) string) column { return each(steps, of) }
	fields := []field{
		{"search_id", text(func(s *schema.SearchStep) string { return s.SearchID })},
		{"agent", text(func(s *schema.SearchStep) string { return s.Agent })},
		{"status", text(func(s *schema.SearchStep) string { return string(s.Status) })},
		{"sequence", each(steps, func(s *schema.SearchStep) uint32 { return s.Sequence })},
		{"time", each(steps, func(s *schema.SearchStep) time.Time { return s.Time.Time() })},
		{"principal", text(func(s *schema.SearchStep) string { return s.Principal })},
		{"reason", text(func(s *schema.SearchStep) string { return s.Reason })},
		{"region_id", each(steps, func(s *schema.SearchStep) uint64 { return s.Report.Region })},
		{"engine", text(func(s *schema.SearchStep) string { return s.Report.Engine })},
		{"adapter", text(func(s *schema.SearchStep) string { return s.Report.Adapter })},
		{"algorithm", text(func(s *schema.SearchStep) string { return s.Report.Algorithm })},
		{"peers", eachNested(steps, func(s *schema.SearchStep) []string { return s.Report.Peers })},
		{"seed", each(steps, func(s *schema.SearchStep) uint64 { return s.Report.Seed })},
		{"budget", each(steps, func(s *schema.SearchStep) uint32 { return uint32(s.Report.Budget) })},
		{"experiments", each(steps, func(s *schema.SearchStep) uint32 { return uint32(s.Report.Experiments) })},
		{"failed", each(steps, func(s *schema.SearchStep) uint32 { return uint32(s.Report.Failed) })},
		{"seconds", each(steps, func(s *schema.SearchStep) float64 { return s.Report.Seconds })},
		{"gigabytes", each(steps, func(s *schema.SearchStep) float64 { return s.Report.Gigabytes })},
		{"anomalies", each(steps, func(s *schema.SearchStep) uint32 { return uint32(s.Report.Anomalies) })},
	}
	return append(fields, subsystemFields(steps, func(s *schema.SearchStep) schema.Subsystem { return s.Report.Subsystem })...)
}

func findingFields(found []foundBy) []field {
	fields := []field{
		{"search_id", each(found, func(f *foundBy) string { return f.step.SearchID })},
		{"agent", each(found, func(f *foundBy) string { return f.step.Agent })},
		{"experiment", each(found, func(f *foundBy) uint32 { return uint32(f.Experiment) })},
		{"revised", each(found, func(f *foundBy) uint32 { return uint32(f.Revised) })},
		{"time", each(found, func(f *foundBy) time.Time { return f.step.Time.Time() })},
		{"symptom", each(found, func(f *foundBy) string { return f.Symptom })},
		{"workload", each(found, func(f *foundBy) string { return string(f.Workload) })},
		{"mfs", each(found, func(f *foundBy) string {
			if f.Withdrawn() {
				return ""
			}
			return string(f.MFS)
		})},
	}
	return append(fields, subsystemFields(found, func(f *foundBy) schema.Subsystem { return f.step.Report.Subsystem })...)
}

func subsystemFields[R any](rows []R, of func(*R) schema.Subsystem) []field {
	text := func(part func(schema.Subsystem) string) column {
		return each(rows, func(r *R) string { return part(of(r)) })
	}
	return []field{
		{"nic_model", text(func(s schema.Subsystem) string { return s.NICModel })},
		{"board", text(func(s schema.Subsystem) string { return s.Board })},
		{"firmware", text(func(s schema.Subsystem) string { return s.Firmware })},
		{"cpu", text(func(s schema.Subsystem) string { return s.CPU })},
		{"pcie", text(func(s schema.Subsystem) string { return s.PCIe })},
		{"nps", each(rows, func(r *R) uint8 { return uint8(of(r).NPS) })},
		{"kernel", text(func(s schema.Subsystem) string { return s.Kernel })},
	}
}

// adapterOf is an adapter with the report that contains it.
type adapterOf struct {
	report *schema.HardwareReport
	schema.Adapter
}

const hardwareTable = "host_hardware"

// hardwareKey deduplicates adapters.
type hardwareKey struct {
	Agent   string `ch:"agent"`
	Adapter string `ch:"adapter"`
	At      int64  `ch:"at"`
}

var auditedHardware = audited[adapterOf, hardwareKey]{table: hardwareTable, columns: "agent, adapter, toUnixTimestamp64Nano(time) AS at", by: "agent", of: "String",
	value:  func(a *adapterOf) string { return a.report.Agent },
	key:    func(a *adapterOf) hardwareKey { return hardwareKey{a.report.Agent, a.Name, int64(a.report.Time)} },
	fields: hardwareFields}

// StoreHardware stores the adapters of hosts, each once by agent, adapter and time. It retries until ctx ends.
func (db *DB) StoreHardware(ctx context.Context, fabric string, reports []schema.HardwareReport) error {
	var rows []adapterOf
	for i := range reports {
		for _, a := range reports[i].Hardware.Adapters {
			rows = append(rows, adapterOf{&reports[i], a})
		}
	}
	return auditedHardware.store(ctx, db, fabric, rows)
}

func hardwareFields(rows []adapterOf) []field {
	fields := []field{
		{"agent", each(rows, func(a *adapterOf) string { return a.report.Agent })},
		{"adapter", each(rows, func(a *adapterOf) string { return a.Name })},
		{"time", each(rows, func(a *adapterOf) time.Time { return a.report.Time.Time() })},
		{"device", each(rows, func(a *adapterOf) string { return a.Device })},
	}
	return append(fields, subsystemFields(rows, func(a *adapterOf) schema.Subsystem { return a.report.Hardware.Subsystem(&a.Adapter) })...)
}
