package store

import (
	"context"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
)

const collectivesTable = "collective_runs"

// StoreCollectives stores diagnosed collectives, each once by run, agent and time. It retries until ctx
// ends.
func (db *DB) StoreCollectives(ctx context.Context, fabric string, runs []report.Published) error {
	return auditedCollectives.store(ctx, db, fabric, runs)
}

// collectiveKey deduplicates diagnosed collectives.
type collectiveKey struct {
	Run   string `ch:"run_id"`
	Agent string `ch:"agent"`
	At    int64  `ch:"at"`
}

var auditedCollectives = audited[report.Published, collectiveKey]{table: collectivesTable, columns: "run_id, agent, toUnixTimestamp64Nano(time) AS at", by: "run_id", of: "String",
	value:  func(p *report.Published) string { return p.RunID },
	key:    func(p *report.Published) collectiveKey { return collectiveKey{p.RunID, p.Agent, int64(p.Time)} },
	fields: collectiveFields}

func collectiveFields(runs []report.Published) []field {
	text := func(of func(*report.Published) string) column { return each(runs, of) }
	at := func(of func(*report.Published) time.Time) column { return each(runs, of) }
	nanos := func(of func(*report.Published) int64) column { return each(runs, of) }
	culprits := func(p *report.Published) []collective.Culprit { return p.Diagnosis.Culprits }
	return []field{
		{"job_id", text(func(p *report.Published) string { return p.Job })},
		{"run_id", text(func(p *report.Published) string { return p.RunID })},
		{"agent", text(func(p *report.Published) string { return p.Agent })},
		{"time", at(func(p *report.Published) time.Time { return p.Time.Time() })},
		{"begin", at(func(p *report.Published) time.Time { return p.Begin.Time() })},
		{"end", at(func(p *report.Published) time.Time { return p.End().Time() })},
		{"format", text(func(p *report.Published) string { return p.Format })},
		{"ranks", each(runs, func(p *report.Published) uint32 { return uint32(p.Diagnosis.Ranks) })},
		{"iterations", each(runs, func(p *report.Published) uint32 { return uint32(p.Iterations) })},
		{"makespan_ns", nanos(func(p *report.Published) int64 { return p.Diagnosis.MakespanNanos })},
		{"expected_ns", nanos(func(p *report.Published) int64 { return p.Diagnosis.ExpectedNanos })},
		{"classes", ofEach(runs, culprits, func(c *collective.Culprit) string { return string(c.Class) })},
		{"flows", ofEach(runs, culprits, func(c *collective.Culprit) string { return c.Flow })},
		{"objects", ofEach(runs, culprits, func(c *collective.Culprit) string { return c.Object })},
		{"costs_ns", ofEach(runs, culprits, func(c *collective.Culprit) int64 { return c.CostNanos })},
		{"confidences", ofEach(runs, culprits, func(c *collective.Culprit) float32 { return float32(c.Confidence) })},
		{"stopped_ranks", ofEach(runs, func(p *report.Published) []int { return p.Diagnosis.StoppedRanks }, func(r *int) uint32 { return uint32(*r) })},
		{"text", text(func(p *report.Published) string { return p.Diagnosis.Text })},
		{"document", text(func(p *report.Published) string { return document(&p.Report) })},
	}
}
