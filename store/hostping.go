package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
)

const hostRunsTable = "hostping_runs"

// StoreHostRuns stores steps of host-probing runs, each once by run, agent and status, and the baselines that they
// took. It retries until ctx ends.
func (db *DB) StoreHostRuns(ctx context.Context, fabric string, steps []order.Step) error {
	var taken []order.Step
	for i := range steps {
		if steps[i].Outcome.Baseline != nil && steps[i].Agent != "" {
			taken = append(taken, steps[i])
		}
	}
	if err := auditedBaselines.store(ctx, db, fabric, taken); err != nil {
		return err
	}
	return auditedHostRuns.store(ctx, db, fabric, steps)
}

// hostRunKey deduplicates steps, baselineKey baselines.
type hostRunKey struct {
	Run    string `ch:"run_id"`
	Agent  string `ch:"agent"`
	Status string `ch:"status"`
}

type baselineKey struct {
	Run   string `ch:"run_id"`
	Agent string `ch:"agent"`
	At    int64  `ch:"at"`
}

var auditedHostRuns = audited[order.Step, hostRunKey]{table: hostRunsTable, columns: "run_id, agent, status", by: "agent", of: "String",
	value:  func(s *order.Step) string { return s.Agent },
	key:    func(s *order.Step) hostRunKey { return hostRunKey{s.RunID, s.Agent, string(s.Status)} },
	fields: hostRunFields}

var auditedBaselines = audited[order.Step, baselineKey]{table: "hostping_baselines", columns: "run_id, agent, toUnixTimestamp64Nano(time) AS at", by: "agent", of: "String",
	value:  func(s *order.Step) string { return s.Agent },
	key:    func(s *order.Step) baselineKey { return baselineKey{s.RunID, s.Agent, int64(s.Time)} },
	fields: hostBaselineFields}

func hostBaselineFields(steps []order.Step) []field {
	return []field{
		{"model", each(steps, func(s *order.Step) string { return s.Outcome.Baseline.Model })},
		{"agent", each(steps, func(s *order.Step) string { return s.Agent })},
		{"run_id", each(steps, func(s *order.Step) string { return s.RunID })},
		{"time", each(steps, func(s *order.Step) time.Time { return s.Time.Time() })},
		{"pairs", each(steps, func(s *order.Step) uint32 { return uint32(len(s.Outcome.Baseline.Pairs)) })},
		{"document", each(steps, func(s *order.Step) string { return document(s.Outcome.Baseline) })},
	}
}

func hostRunFields(steps []order.Step) []field {
	text := func(of func(*order.Step) string) column { return each(steps, of) }
	return append([]field{
		{"agent", text(func(s *order.Step) string { return s.Agent })},
		{"run_id", text(func(s *order.Step) string { return s.RunID })},
		{"status", text(func(s *order.Step) string { return string(s.Status) })},
		{"time", each(steps, func(s *order.Step) time.Time { return s.Time.Time() })},
		{"principal", text(func(s *order.Step) string { return s.Principal })},
		{"reason", text(func(s *order.Step) string { return s.Reason })},
		{"trigger", text(func(s *order.Step) string { return string(s.Outcome.Trigger) })},
		{"mode", text(func(s *order.Step) string { return string(s.Outcome.Mode) })},
		{"region_id", each(steps, func(s *order.Step) uint64 { return s.Outcome.Region })},
		{"model", text(func(s *order.Step) string { return s.Outcome.Model })},
		{"state", text(func(s *order.Step) string { return string(reportOf(s).State) })},
		{"seconds", each(steps, func(s *order.Step) float32 { return float32(s.Outcome.Seconds) })},
		{"probes", each(steps, func(s *order.Step) uint32 { return uint32(s.Outcome.Probes) })},
		{"sentence", text(sentenceOf)},
		{"report", text(func(s *order.Step) string { return document(s.Outcome.Report) })},
		{"graph", text(func(s *order.Step) string { return document(s.Outcome.Graph) })},
	}, append(verdictFields(steps), cellFields(steps)...)...)
}

func verdictFields(steps []order.Step) []field {
	verdicts := func(s *order.Step) []hostping.Verdict { return reportOf(s).Verdicts }
	return []field{
		{"bottlenecks", ofEach(steps, verdicts, func(v *hostping.Verdict) string { return string(v.Bottleneck) })},
		{"accused", ofEach(steps, verdicts, func(v *hostping.Verdict) string { return cmp.Or(v.Link, v.RNIC, v.Endpoint) })},
		{"confidences", ofEach(steps, verdicts, func(v *hostping.Verdict) float32 { return float32(v.Confidence) })},
	}
}

func cellFields(steps []order.Step) []field {
	cells := func(s *order.Step) []hostping.Cell { return reportOf(s).Matrix }
	text := func(of func(*hostping.Cell) string) column { return ofEach(steps, cells, of) }
	number := func(of func(*hostping.Cell) float64) column {
		return ofEach(steps, cells, func(c *hostping.Cell) float32 { return float32(of(c)) })
	}
	return []field{
		{"rnics", text(func(c *hostping.Cell) string { return c.RNIC })},
		{"endpoints", text(func(c *hostping.Cell) string { return c.Endpoint })},
		{"latency_us", number(func(c *hostping.Cell) float64 { return c.LatencyMicros })},
		{"gbps", number(func(c *hostping.Cell) float64 { return c.Gbps })},
		{"baseline_latency_us", number(func(c *hostping.Cell) float64 { return c.BaselineLatencyMicros })},
		{"baseline_gbps", number(func(c *hostping.Cell) float64 { return c.BaselineGbps })},
	}
}

// reportOf returns a step's report, or an empty one if it has none.
func reportOf(s *order.Step) *hostping.Report {
	if s.Outcome.Report == nil {
		return &hostping.Report{}
	}
	return s.Outcome.Report
}

func sentenceOf(s *order.Step) string {
	if s.Outcome.Report == nil {
		return ""
	}
	g := s.Outcome.Graph
	if g == nil {
		g = &hostping.Graph{}
	}
	return order.Sentence(s.Agent, s.Outcome.Report, g)
}

// document returns a value's JSON, or "" for nil.
func document[T any](v *T) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil { // it was decoded from JSON
		panic("store: " + err.Error())
	}
	return string(text)
}
