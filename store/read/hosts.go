package read

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
)

// MaxHosts limits the hosts, runs or outliers of a result.
const MaxHosts = 10_000

// HostRun is a probe run of a host.
type HostRun struct {
	Agent     string               `json:"agent,omitempty"` // empty: no agent has answered
	RunID     string               `json:"run_id"`
	Status    schema.CommandStatus `json:"status"`
	Time      schema.Instant       `json:"time"`
	Principal string               `json:"principal,omitempty"` // who requested it; empty: the agent's monitor
	Why       string               `json:"why,omitempty"`       // it was requested
	Reason    string               `json:"reason,omitempty"`    // why it was not carried out
	Trigger   order.Trigger        `json:"trigger"`
	Mode      order.Mode           `json:"mode"`
	Region    uint64               `json:"region,string,omitempty"`
	Model     string               `json:"model"`
	State     hostping.State       `json:"state"`
	Seconds   float64              `json:"seconds"`
	Probes    int                  `json:"probes"`
	Verdicts  []HostVerdict        `json:"verdicts"` // the most confident first
	Sentence  string               `json:"sentence,omitempty"`
}

// HostVerdict summarises a verdict; the report has the evidence.
type HostVerdict struct {
	Bottleneck hostping.Bottleneck `json:"bottleneck"`
	Accused    string              `json:"accused"` // a link, else an RNIC, else an endpoint
	Confidence float64             `json:"confidence"`
}

// Running reports whether the run may be in progress at a time.
func (r *HostRun) Running(now schema.Instant) bool {
	if r.Status == order.Requested {
		return now-r.Time < answerWithin
	}
	return !r.Status.Final()
}

// hostRunRow is a row of a run.
type hostRunRow struct {
	Agent       string    `ch:"agent"`
	RunID       string    `ch:"run_id"`
	Status      string    `ch:"status"`
	Time        time.Time `ch:"time"`
	Principal   string    `ch:"principal"`
	Why         string    `ch:"why"`
	Reason      string    `ch:"reason"`
	Trigger     string    `ch:"trigger"`
	Mode        string    `ch:"mode"`
	Region      uint64    `ch:"region_id"`
	Model       string    `ch:"model"`
	State       string    `ch:"state"`
	Seconds     float32   `ch:"seconds"`
	Probes      uint32    `ch:"probes"`
	Bottlenecks []string  `ch:"bottlenecks"`
	Accused     []string  `ch:"accused"`
	Confidences []float32 `ch:"confidences"`
	Sentence    string    `ch:"sentence"`
}

func (r *hostRunRow) run() (HostRun, error) {
	run := HostRun{Agent: r.Agent, RunID: r.RunID, Status: schema.CommandStatus(r.Status), Time: schema.InstantOf(r.Time), Principal: r.Principal, Why: r.Why, Reason: r.Reason,
		Trigger: order.Trigger(r.Trigger), Mode: order.Mode(r.Mode), Region: r.Region, Model: r.Model, State: hostping.State(r.State), Seconds: decimal(r.Seconds),
		Probes: int(r.Probes), Sentence: r.Sentence, Verdicts: []HostVerdict{}}
	if len(r.Accused) != len(r.Bottlenecks) || len(r.Confidences) != len(r.Bottlenecks) {
		return run, fmt.Errorf("run %s of host %s: %d bottlenecks, %d accused, %d confidences", r.RunID, r.Agent, len(r.Bottlenecks), len(r.Accused), len(r.Confidences))
	}
	for i, b := range r.Bottlenecks {
		run.Verdicts = append(run.Verdicts, HostVerdict{hostping.Bottleneck(b), r.Accused[i], decimal(r.Confidences[i])})
	}
	return run, nil
}

// HostRunFilter selects runs; empty fields match all.
type HostRunFilter struct {
	Agent, ID string
	Region    uint64
}

// HostRuns returns the runs of a span, the newest first.
func (m *Model) HostRuns(ctx context.Context, fabric string, s Span, f HostRunFilter, n int) ([]HostRun, error) {
	rows, err := limited[hostRunRow](ctx, m, "host_runs", inNanos(fabric, s).with("agent", f.Agent).with("id", f.ID).with("region", f.Region).with("limit", n))
	return convert(rows, err, (*hostRunRow).run)
}

// HostStates returns each host's newest report of a span, for one model or all (""), those with verdicts first.
func (m *Model) HostStates(ctx context.Context, fabric string, s Span, model string, n int) ([]HostRun, error) {
	rows, err := limited[hostRunRow](ctx, m, "host_states", inNanos(fabric, s).with("model", model).with("limit", n))
	return convert(rows, err, (*hostRunRow).run)
}

// HostReport is a run with all its measurements and the host's graph.
type HostReport struct {
	Run    HostRun         `json:"run"`
	Report hostping.Report `json:"report"`
	Graph  hostping.Graph  `json:"graph"` // empty if it did not fit into the agent's answer
}

// HostReport returns a host's newest report (id empty), or that of one run; ErrNotFound if there is none.
func (m *Model) HostReport(ctx context.Context, fabric, agent, id string) (r HostReport, err error) {
	type row struct {
		RunID  string `ch:"run_id"`
		Report string `ch:"report"`
		Graph  string `ch:"graph"`
	}
	found, err := limited[row](ctx, m, "host_report", Args{"fabric": fabric, "agent": agent, "id": id})
	if err != nil {
		return r, err
	}
	if len(found) == 0 {
		return r, ErrNotFound
	}
	runs, err := m.HostRuns(ctx, fabric, Span{From: 0, To: math.MaxInt64}, HostRunFilter{Agent: agent, ID: found[0].RunID}, 1)
	if err != nil {
		return r, err
	}
	if len(runs) == 0 {
		return r, ErrNotFound
	}
	r.Run = runs[0]
	r.Report = hostping.Report{Verdicts: []hostping.Verdict{}, Matrix: []hostping.Cell{}, Unmeasured: []hostping.Unmeasured{}, Notes: []string{}, Algorithm1: map[string]hostping.LinkFinding{}}
	r.Graph = hostping.Graph{Endpoints: []hostping.Endpoint{}, RNICs: []hostping.RNIC{}, Links: []hostping.Link{}, Paths: []hostping.Path{}, Affinitive: map[string][]string{}, Assumed: []string{}}
	if err := json.Unmarshal([]byte(found[0].Report), &r.Report); err != nil {
		return r, fmt.Errorf("report of run %s: %w", found[0].RunID, err)
	}
	if found[0].Graph != "" {
		if err := json.Unmarshal([]byte(found[0].Graph), &r.Graph); err != nil {
			return r, fmt.Errorf("graph of run %s: %w", found[0].RunID, err)
		}
	}
	return r, nil
}

// HostOutlier is an RNIC-endpoint pair of a host that deviates from the hosts of its model.
type HostOutlier struct {
	Agent              string         `json:"agent"`
	RunID              string         `json:"run_id"`
	Time               schema.Instant `json:"time"`
	Model              string         `json:"model"`
	RNIC               string         `json:"rnic"`
	Endpoint           string         `json:"endpoint"`
	Gbps               float64        `json:"gbps"`
	LatencyMicros      float64        `json:"latency_us"`
	FleetGbps          float64        `json:"fleet_gbps"`       // median of the hosts of the model
	FleetLatencyMicros float64        `json:"fleet_latency_us"` // median
	Hosts              int            `json:"hosts"`            // of the model that measured this pair
}

// HostOutliers returns the pairs of a span's newest idle runs whose bandwidth is lower by more than so many
// percent than the median of their model, or whose latency is higher by more; the slowest first.
func (m *Model) HostOutliers(ctx context.Context, fabric string, s Span, model string, percent float64, n int) ([]HostOutlier, error) {
	type row struct {
		Agent              string    `ch:"agent"`
		RunID              string    `ch:"run_id"`
		Time               time.Time `ch:"time"`
		Model              string    `ch:"model"`
		RNIC               string    `ch:"rnic"`
		Endpoint           string    `ch:"endpoint"`
		Gbps               float64   `ch:"gbps"`
		LatencyMicros      float64   `ch:"latency_us"`
		FleetGbps          float64   `ch:"fleet_gbps"`
		FleetLatencyMicros float64   `ch:"fleet_latency_us"`
		Hosts              uint64    `ch:"hosts"`
	}
	found, err := limited[row](ctx, m, "host_outliers", inNanos(fabric, s).with("model", model).with("percent", percent).with("limit", n))
	return convert(found, err, func(r *row) (HostOutlier, error) {
		return HostOutlier{r.Agent, r.RunID, schema.InstantOf(r.Time), r.Model, r.RNIC, r.Endpoint, r.Gbps, r.LatencyMicros, r.FleetGbps, r.FleetLatencyMicros, int(r.Hosts)}, nil
	})
}

// HostBaseline holds what the hosts of a model measured when a baseline was requested.
type HostBaseline struct {
	Model    string            `json:"model"`
	Agents   []string          `json:"agents"`
	Newest   schema.Instant    `json:"newest"`
	Baseline hostping.Baseline `json:"baseline"` // merged from the newest of each host
}

// HostBaselines returns the baselines of a model, or of all (""), by model.
func (m *Model) HostBaselines(ctx context.Context, fabric, model string) (list []HostBaseline, err error) {
	type row struct {
		Model    string    `ch:"model"`
		Agent    string    `ch:"agent"`
		RunID    string    `ch:"run_id"`
		Time     time.Time `ch:"time"`
		Document string    `ch:"document"`
	}
	found, err := limited[row](ctx, m, "host_baselines", Args{"fabric": fabric, "model": model, "limit": MaxHosts})
	if err != nil {
		return nil, err
	}
	for i := range found {
		r := &found[i]
		one, err := hostping.ParseBaseline([]byte(r.Document))
		if err != nil {
			return nil, fmt.Errorf("baseline of run %s of host %s: %w", r.RunID, r.Agent, err)
		}
		if n := len(list); n == 0 || list[n-1].Model != r.Model {
			list = append(list, HostBaseline{Model: r.Model, Agents: []string{r.Agent}, Newest: schema.InstantOf(r.Time), Baseline: one})
			continue
		}
		b := &list[len(list)-1]
		if b.Baseline, err = b.Baseline.Merge(&one); err != nil {
			return nil, fmt.Errorf("baselines of model %s: run %s of host %s: %w", r.Model, r.RunID, r.Agent, err)
		}
		b.Agents = append(b.Agents, r.Agent)
	}
	return list, nil
}

// How far in time a run of a host may be from a diagnosis of the host to be matched with it.
const (
	runBefore = schema.Instant(time.Hour)
	runAfter  = schema.Instant(2 * time.Hour)
)

// RunsNear returns the runs of an agent's host that may match diagnoses of a span, the newest first.
func (m *Model) RunsNear(ctx context.Context, fabric, agent string, span Span) ([]HostRun, error) {
	return m.HostRuns(ctx, fabric, Span{From: max(0, span.From-runBefore), To: span.To + runAfter}, HostRunFilter{Agent: agent}, MaxHosts)
}

// RunOf selects the run that says whether the host at the root of a diagnosis has an internal bottleneck, from that
// host's runs, the newest first: the newest one that was requested for the region, else the nearest in time; nil if
// there is none.
func RunOf(runs []HostRun, d *schema.Diagnosis) (best *HostRun) {
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Sentence == "" || r.Time < d.Time-runBefore || r.Time >= d.Time+runAfter:
		case r.Region != 0 && r.Region == d.Region:
			return r
		case best == nil || distance(r.Time, d.Time) < distance(best.Time, d.Time):
			best = r
		}
	}
	return best
}

func distance(a, b schema.Instant) schema.Instant { return max(a-b, b-a) }
