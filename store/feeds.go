package store

import (
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/giverny/giverny/schema"
)

// facts are the tables of what schedulers and logs report: stored with an interval but
// valid beyond it. If a crash interrupted a write, the repeated result may hold other
// facts than the first: so the idempotency key of an insert is a hash of its content,
// and readers take the row stored last per key.
var facts = []table{
	{"jobs", "interval_start", jobRows},
	{"failures", "interval_start", failureRows},
	{"job_traffic", "interval_start", trafficRows},
}

// ofContent returns k with a hash of the rows as part of the idempotency key.
func (k key) ofContent(rows rowSet) key {
	h := fnv.New64a()
	enc := json.NewEncoder(h)
	for _, f := range rows.fields {
		if f.name != "stored_at" {
			_ = enc.Encode(f.values) // strings and numbers, into a hash: cannot fail
		}
	}
	k.content = h.Sum64() | 1
	return k
}

func jobRows(r *schema.IntervalResult, _ *metrics) rowSet {
	jobs := r.Jobs
	return rowSet{len(jobs), []field{
		{"job_id", each(jobs, func(j *schema.Job) string { return j.ID })},
		{"name", each(jobs, func(j *schema.Job) string { return j.Name })},
		{"user", each(jobs, func(j *schema.Job) string { return j.User })},
		{"nodes", eachNested(jobs, func(j *schema.Job) []string { return j.Nodes })},
		{"start", each(jobs, func(j *schema.Job) time.Time { return j.Start.Time() })},
		{"end", each(jobs, func(j *schema.Job) time.Time { return j.End.Time() })},
		{"state", each(jobs, func(j *schema.Job) string { return j.State })}}}
}

func failureRows(r *schema.IntervalResult, _ *metrics) rowSet {
	fs := r.Failures
	return rowSet{len(fs), []field{
		{"time", each(fs, func(f *schema.Failure) time.Time { return f.Time.Time() })},
		{"kind", each(fs, func(f *schema.Failure) string { return string(f.Kind) })},
		{"device", each(fs, func(f *schema.Failure) string { return f.Device })},
		{"port", each(fs, func(f *schema.Failure) string { return f.Port })},
		{"detail", each(fs, func(f *schema.Failure) string { return f.Detail })}}}
}

func trafficRows(r *schema.IntervalResult, _ *metrics) rowSet {
	ts := r.Traffic
	bytes := func(value func(*schema.JobTraffic) *float64) column {
		return nested[*float64](each(ts, value))
	}
	return rowSet{len(ts), []field{
		{"job_id", each(ts, func(t *schema.JobTraffic) string { return t.JobID })},
		{"time", each(ts, func(t *schema.JobTraffic) time.Time { return t.Time.Time() })},
		{"read_bytes", bytes(func(t *schema.JobTraffic) *float64 { return t.Read })},
		{"write_bytes", bytes(func(t *schema.JobTraffic) *float64 { return t.Write })},
		{"rdma_read_bytes", bytes(func(t *schema.JobTraffic) *float64 { return t.RDMARead })},
		{"rdma_write_bytes", bytes(func(t *schema.JobTraffic) *float64 { return t.RDMAWrite })}}}
}

// diagnosisRows omits a diagnosis that JSON cannot encode because a number in it is not finite.
func diagnosisRows(r *schema.IntervalResult, m *metrics) rowSet {
	var ds []schema.Diagnosis
	var documents plain[string]
	for i := range r.Diagnoses {
		text, err := json.Marshal(&r.Diagnoses[i])
		if err != nil {
			m.valuesDropped.WithLabelValues(reasonNotFinite).Inc()
			continue
		}
		ds, documents = append(ds, r.Diagnoses[i]), append(documents, string(text))
	}
	root := func(d *schema.Diagnosis) schema.Root {
		if d.Root == nil {
			return schema.Root{Link: schema.NoLink}
		}
		return *d.Root
	}
	return rowSet{len(ds), []field{
		{"rank", ranks(len(ds))},
		{"region_id", each(ds, func(d *schema.Diagnosis) uint64 { return d.Region })},
		{"metric", each(ds, func(d *schema.Diagnosis) string { return d.Metric.String() })},
		{"severity", each(ds, func(d *schema.Diagnosis) int8 { return int8(d.Severity) })},
		{"mean", each(ds, func(d *schema.Diagnosis) float64 { return d.Mean })},
		{"class", each(ds, func(d *schema.Diagnosis) string { return string(d.Cause.Class) })},
		{"confidence", each(ds, func(d *schema.Diagnosis) float64 { return d.Cause.Confidence })},
		{"root_device", each(ds, func(d *schema.Diagnosis) string { return root(d).Device })},
		{"root_port", each(ds, func(d *schema.Diagnosis) string { return root(d).Port })},
		{"root_peer", each(ds, func(d *schema.Diagnosis) string { return root(d).Peer })},
		{"root_kind", each(ds, func(d *schema.Diagnosis) string { return root(d).Kind })},
		{"job_ids", ofEach(ds, accused, func(j *schema.AccusedJob) string { return j.JobID })},
		{"blames", ofEach(ds, accused, func(j *schema.AccusedJob) float64 { return j.Blame })},
		{"failure_kinds", ofEach(ds, nearFailures, func(f *schema.NearFailure) string { return string(f.Kind) })},
		{"failure_devices", ofEach(ds, nearFailures, func(f *schema.NearFailure) string { return f.Device })},
		{"failure_ports", ofEach(ds, nearFailures, func(f *schema.NearFailure) string { return f.Port })},
		{"victim_ids", ofEach(ds, victims, func(v *schema.VictimJob) string { return v.JobID })},
		{"action", each(ds, func(d *schema.Diagnosis) string { return d.Action })},
		{"text", each(ds, func(d *schema.Diagnosis) string { return d.Text })},
		{"document", documents}}}
}

func accused(d *schema.Diagnosis) []schema.AccusedJob       { return d.Jobs }
func nearFailures(d *schema.Diagnosis) []schema.NearFailure { return d.Failures }
func victims(d *schema.Diagnosis) []schema.VictimJob        { return d.Victims }

// ofEach returns a column of arrays: one value per element of a row's list.
func ofEach[R, E, T any](rows []R, elements func(*R) []E, value func(*E) T) column {
	return eachNested(rows, func(r *R) []T { return []T(each(elements(r), value)) })
}

func mitigationRows(r *schema.IntervalResult, _ *metrics) rowSet {
	ms := r.Mitigations
	return rowSet{len(ms), []field{
		{"begin", each(ms, func(m *schema.Mitigation) time.Time { return m.Begin.Time() })},
		{"end", each(ms, func(m *schema.Mitigation) time.Time { return m.End.Time() })},
		{"throttlings", each(ms, func(m *schema.Mitigation) uint32 { return uint32(m.Events) })},
		{"congestion", each(ms, func(m *schema.Mitigation) time.Time { return m.Congestion.Time() })},
		{"stall_before", each(ms, func(m *schema.Mitigation) float64 { return m.Before })},
		{"stall_after", each(ms, func(m *schema.Mitigation) float64 { return m.After })},
		{"alleviated", each(ms, func(m *schema.Mitigation) bool { return m.Alleviated })}}}
}
