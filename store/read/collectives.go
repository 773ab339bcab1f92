package read

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/schema"
)

// Limits of results about collectives.
const (
	MaxCollectives       = 1000 // diagnosed runs
	MaxCollectiveReports = 200  // reports to join with a region
)

// Collective summarises a diagnosed run of a job's collectives.
type Collective struct {
	Job           string              `json:"job_id"`
	RunID         string              `json:"run_id"`
	Agent         string              `json:"agent"` // the agent that published it
	Time          schema.Instant      `json:"time"`  // when it was published
	Begin         schema.Instant      `json:"begin"` // of the first step
	End           schema.Instant      `json:"end"`   // of the last
	Format        string              `json:"format"`
	Ranks         int                 `json:"ranks"`
	Iterations    int                 `json:"iterations"`
	MakespanNanos int64               `json:"makespan_ns"`
	ExpectedNanos int64               `json:"expected_ns"` // without the culprits
	Culprits      []CollectiveCulprit `json:"culprits"`    // the most costly first
	StoppedRanks  []int               `json:"stopped_ranks"`
	Text          string              `json:"text"`
}

// CollectiveCulprit summarises a culprit; the report has the evidence.
type CollectiveCulprit struct {
	Class      collective.Class `json:"class"`
	Flow       string           `json:"flow"` // empty: none
	Object     string           `json:"object"`
	CostNanos  int64            `json:"cost_ns"` // of the makespan
	Confidence float64          `json:"confidence"`
}

// collectiveRow is a row of a run.
type collectiveRow struct {
	Job         string    `ch:"job_id"`
	RunID       string    `ch:"run_id"`
	Agent       string    `ch:"agent"`
	Time        time.Time `ch:"time"`
	Begin       time.Time `ch:"begin"`
	End         time.Time `ch:"end"`
	Format      string    `ch:"format"`
	Ranks       uint32    `ch:"ranks"`
	Iterations  uint32    `ch:"iterations"`
	Makespan    int64     `ch:"makespan_ns"`
	Expected    int64     `ch:"expected_ns"`
	Classes     []string  `ch:"classes"`
	Flows       []string  `ch:"flows"`
	Objects     []string  `ch:"objects"`
	Costs       []int64   `ch:"costs_ns"`
	Confidences []float32 `ch:"confidences"`
	Stopped     []uint32  `ch:"stopped_ranks"`
	Text        string    `ch:"text"`
}

func (r *collectiveRow) run() (Collective, error) {
	c := Collective{Job: r.Job, RunID: r.RunID, Agent: r.Agent, Time: schema.InstantOf(r.Time), Begin: schema.InstantOf(r.Begin), End: schema.InstantOf(r.End), Format: r.Format,
		Ranks: int(r.Ranks), Iterations: int(r.Iterations), MakespanNanos: r.Makespan, ExpectedNanos: r.Expected, Text: r.Text,
		Culprits: []CollectiveCulprit{}, StoppedRanks: append([]int{}, numbers[int](r.Stopped)...)}
	n := len(r.Classes)
	if len(r.Flows) != n || len(r.Objects) != n || len(r.Costs) != n || len(r.Confidences) != n {
		return c, fmt.Errorf("collective %s: %d classes, %d flows, %d objects, %d costs, %d confidences", r.RunID, n, len(r.Flows), len(r.Objects), len(r.Costs), len(r.Confidences))
	}
	for i := range n {
		c.Culprits = append(c.Culprits, CollectiveCulprit{collective.Class(r.Classes[i]), r.Flows[i], r.Objects[i], r.Costs[i], decimal(r.Confidences[i])})
	}
	return c, nil
}

// CollectiveFilter selects runs; empty fields match all.
type CollectiveFilter struct{ Job, RunID string }

// Collectives returns the diagnosed runs that were in progress at any time of a span, the
// newest first.
func (m *Model) Collectives(ctx context.Context, fabric string, s Span, f CollectiveFilter, n int) ([]Collective, error) {
	rows, err := limited[collectiveRow](ctx, m, "collective_runs", inNanos(fabric, s).with("job", f.Job).with("id", f.RunID).with("limit", n))
	return convert(rows, err, (*collectiveRow).run)
}

// CollectiveReports returns the full reports of runs of a span, the newest first.
func (m *Model) CollectiveReports(ctx context.Context, fabric string, s Span, n int) ([]report.Published, error) {
	return m.reports(ctx, fabric, s, "", n)
}

// CollectiveReport returns the report of one run, or ErrNotFound.
func (m *Model) CollectiveReport(ctx context.Context, fabric, id string) (report.Published, error) {
	found, err := m.reports(ctx, fabric, Span{From: 0, To: math.MaxInt64}, id, 1)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return report.Published{}, err
	}
	return found[0], nil
}

func (m *Model) reports(ctx context.Context, fabric string, s Span, id string, n int) ([]report.Published, error) {
	type row struct {
		RunID    string    `ch:"run_id"`
		Agent    string    `ch:"agent"`
		Time     time.Time `ch:"time"`
		Document string    `ch:"document"`
	}
	rows, err := limited[row](ctx, m, "collective_reports", inNanos(fabric, s).with("id", id).with("limit", n))
	return convert(rows, err, func(r *row) (report.Published, error) {
		p := report.Published{RunID: r.RunID, Agent: r.Agent, Time: schema.InstantOf(r.Time)}
		if err := json.Unmarshal([]byte(r.Document), &p.Report); err != nil {
			return p, fmt.Errorf("report of collective %s: %w", r.RunID, err)
		}
		return p, nil
	})
}
