package read

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// longestJob is how long a job whose end was never stored counts as running after it was last reported.
const longestJob = 60 * 24 * time.Hour

// maxRows limits the jobs, and the diagnoses, of one result.
const maxRows = 100_000

// Jobs returns the jobs that ran at any time of a span, by start, each as it was
// last stored.
func (m *Model) Jobs(ctx context.Context, fabric string, span Span, ids ...string) ([]schema.Job, error) {
	return m.NewestJobs(ctx, fabric, span, maxRows, ids...)
}

// NewestJobs is Jobs for the n jobs that started last, of the given ids, or of all
// if none is given.
func (m *Model) NewestJobs(ctx context.Context, fabric string, span Span, n int, ids ...string) ([]schema.Job, error) {
	type row struct {
		ID    string    `ch:"job_id"`
		Name  string    `ch:"name"`
		User  string    `ch:"user"`
		Nodes []string  `ch:"nodes"`
		Start time.Time `ch:"start"`
		End   time.Time `ch:"end"`
		State string    `ch:"state"`
	}
	a := inNanos(fabric, span).with("oldest", int64(span.From)-int64(longestJob)).with("ids", append([]string{}, ids...)).with("limit", n)
	found, err := limited[row](ctx, m, "jobs", a)
	return convert(found, err, func(r *row) (schema.Job, error) {
		return schema.Job{Fabric: fabric, ID: r.ID, Name: r.Name, User: r.User, Nodes: r.Nodes, Start: schema.InstantOf(r.Start), End: schema.InstantOf(r.End), State: r.State}, nil
	})
}

// Failures returns the failures that logs and management systems reported in a span;
// Events includes them, plus the failures that counters show.
func (m *Model) Failures(ctx context.Context, fabric string, span Span) ([]schema.Failure, error) {
	type row struct {
		Time   time.Time `ch:"time"`
		Kind   string    `ch:"kind"`
		Device string    `ch:"device"`
		Port   string    `ch:"port"`
		Detail string    `ch:"detail"`
	}
	found, err := limited[row](ctx, m, "failures", inNanos(fabric, span))
	return convert(found, err, func(r *row) (schema.Failure, error) {
		return schema.Failure{Fabric: fabric, Time: schema.InstantOf(r.Time), Kind: schema.EventKind(r.Kind), Device: r.Device, Port: r.Port, Detail: r.Detail}, nil
	})
}

// JobTraffic returns the bytes that jobs moved in the intervals that start in a span: of the given ids, or of
// all if none is given.
func (m *Model) JobTraffic(ctx context.Context, fabric string, span Span, ids ...string) ([]schema.JobTraffic, error) {
	type row struct {
		ID        string    `ch:"job_id"`
		Time      time.Time `ch:"time"`
		Read      *float64  `ch:"read_bytes"`
		Write     *float64  `ch:"write_bytes"`
		RDMARead  *float64  `ch:"rdma_read_bytes"`
		RDMAWrite *float64  `ch:"rdma_write_bytes"`
	}
	found, err := limited[row](ctx, m, "job_traffic", inNanos(fabric, span).with("ids", append([]string{}, ids...)))
	return convert(found, err, func(r *row) (schema.JobTraffic, error) {
		return schema.JobTraffic{Fabric: fabric, JobID: r.ID, Time: schema.InstantOf(r.Time), Read: r.Read, Write: r.Write, RDMARead: r.RDMARead, RDMAWrite: r.RDMAWrite}, nil
	})
}

// Diagnoses returns the diagnoses of the intervals that start in a span, of one
// region or, if region is 0, of all; in the order of the intervals and, within one,
// of the result.
func (m *Model) Diagnoses(ctx context.Context, fabric string, span Span, region uint64) ([]schema.Diagnosis, error) {
	return m.NewestDiagnoses(ctx, fabric, span, region, maxRows)
}

// NewestDiagnoses is Diagnoses for the n newest.
func (m *Model) NewestDiagnoses(ctx context.Context, fabric string, span Span, region uint64, n int) ([]schema.Diagnosis, error) {
	type row struct {
		Time     time.Time `ch:"time"`
		Document string    `ch:"document"`
	}
	found, err := limited[row](ctx, m, "diagnoses", inSpan(fabric, span).with("id", region).with("limit", n))
	slices.Reverse(found)
	return convert(found, err, func(r *row) (d schema.Diagnosis, err error) {
		if err = json.Unmarshal([]byte(r.Document), &d); err != nil {
			err = fmt.Errorf("diagnosis at %s: %w", r.Time, err)
		}
		return d, err
	})
}

// Exposure is a region that a job was accused of or suffered from.
type Exposure struct {
	JobID    string          `json:"-"`
	Region   uint64          `json:"region,string"`
	Severity schema.Severity `json:"severity"` // the highest
	From     schema.Instant  `json:"from"`     // start of the first interval
	To       schema.Instant  `json:"to"`       // start of the last
	Accused  int             `json:"accused_intervals"`
	Victim   int             `json:"victim_intervals"`
	Blame    float64         `json:"blame"` // the highest; 0 if the job was only a victim
}

// Exposures returns the regions that jobs were accused of or suffered from in a
// span, by job and time. Job ids are reused: callers must match regions with a job's
// run time.
func (m *Model) Exposures(ctx context.Context, fabric string, span Span, ids []string) ([]Exposure, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		Job     string    `ch:"job"`
		Region  uint64    `ch:"region_id"`
		Worst   uint8     `ch:"worst"`
		Begin   time.Time `ch:"begin"`
		End     time.Time `ch:"end"`
		Accused uint64    `ch:"accused"`
		Victim  uint64    `ch:"victim"`
		Blame   float64   `ch:"max_blame"`
	}
	found, err := limited[row](ctx, m, "exposures", inSpan(fabric, span).with("ids", ids))
	return convert(found, err, func(r *row) (Exposure, error) {
		return Exposure{r.Job, r.Region, schema.Severity(r.Worst), schema.InstantOf(r.Begin), schema.InstantOf(r.End), int(r.Accused), int(r.Victim), r.Blame}, nil
	})
}
