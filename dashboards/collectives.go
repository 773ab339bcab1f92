package dashboards

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type collectiveParameters struct {
	runQuestion
	Job string `query:"job" doc:"Collectives of this job; default: all jobs."`
}

type collectiveList struct {
	inSpan
	// Collectives that were diagnosed, the newest first, at most 1000.
	Collectives []read.Collective `json:"collectives"`
}

func (d *Dashboards) collectives(ctx context.Context, p *collectiveParameters) (*collectiveList, error) {
	span, list, err := ask(d, p.Fabric, p.From, p.To, runSpan, func(fabric string, s read.Span) ([]read.Collective, error) {
		return d.model.Collectives(ctx, fabric, s, read.CollectiveFilter{Job: p.Job}, read.MaxCollectives)
	})
	return &collectiveList{span, list}, err
}

type collectiveRunParameters struct {
	ofFabric
	Run string `path:"run" doc:"Id of a diagnosed run."`
}

// collectiveRun is a diagnosed run as published, with the regions that its flows crossed.
type collectiveRun struct {
	RunID     string              `json:"run_id"`
	Job       string              `json:"job_id"`
	Agent     string              `json:"agent"`  // the agent that published it
	Time      schema.Instant      `json:"time"`   // when it was published
	Format    string              `json:"format"` // of the records
	Begin     schema.Instant      `json:"begin"`  // of the first step; other times are relative to it
	End       schema.Instant      `json:"end"`    // of the last
	Hosts     [][]string          `json:"hosts"`  // by rank: its host's devices in the fabric
	Diagnosis collectiveDiagnosis `json:"diagnosis"`
	// Segments of the whole critical path; if there are too many, the diagnosis has only those of the timeline.
	Segments int             `json:"segments"`
	Timeline report.Timeline `json:"timeline"`
	// Regions of congestion that flows of the collective crossed, the most costly first.
	Regions []crossedRegion `json:"regions"`
}

// collectiveDiagnosis is the output of giverny collective diagnose.
type collectiveDiagnosis collective.Diagnosis

// crossedRegion is a region that flows of a collective crossed.
type crossedRegion struct {
	report.Crossing
	Text string `json:"text"` // human-readable
}

func (d *Dashboards) collectiveRun(ctx context.Context, p *collectiveRunParameters) (*collectiveRun, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	found, err := d.model.CollectiveReport(ctx, f.name, p.Run)
	if errors.Is(err, read.ErrNotFound) {
		return nil, problem.NotFound("no collective %s; GET %s/fabrics/%s/collectives lists the diagnosed ones", p.Run, Prefix, f.name)
	}
	if err != nil {
		return nil, err
	}
	regions, err := d.regionsDuring(ctx, f, found.Begin, found.End(), schema.NoMetric)
	if err != nil {
		return nil, err
	}
	crossings, err := d.crossings(ctx, f, &found.Report, regions)
	out := &collectiveRun{RunID: found.RunID, Job: found.Job, Agent: found.Agent, Time: found.Time, Format: found.Format, Begin: found.Begin, End: found.End(),
		Hosts: append([][]string{}, found.Devices...), Diagnosis: collectiveDiagnosis(found.Diagnosis), Segments: found.Segments, Timeline: found.Timeline, Regions: []crossedRegion{}}
	for _, c := range crossings {
		out.Regions = append(out.Regions, crossedRegion{c, c.Sentence(found.Job)})
	}
	return out, err
}

// maxCrossable limits the regions, counted once per interval, that a run is joined with.
const maxCrossable = 50_000

// regionsDuring returns the regions of the intervals that overlap a span of time, of one metric or of all.
func (d *Dashboards) regionsDuring(ctx context.Context, f *fabric, from, to schema.Instant, metric schema.Metric) ([]read.RegionAt, error) {
	span := read.Span{From: from - schema.Instant(f.interval) + 1, To: to + 1}
	return d.model.NewestRegions(ctx, f.name, span, metric, schema.Low, maxCrossable)
}

// crossings joins a report with regions, each on the graph that was in force. It skips intervals whose graph
// is no longer stored.
func (d *Dashboards) crossings(ctx context.Context, f *fabric, r *report.Report, regions []read.RegionAt) ([]report.Crossing, error) {
	c := report.NewCrosser(r)
	for len(regions) > 0 {
		n := 1
		for n < len(regions) && regions[n].Time == regions[0].Time && regions[n].GraphVersion == regions[0].GraphVersion {
			n++
		}
		g, err := f.graphs.of(ctx, regions[0].GraphVersion)
		if err != nil {
			if missing := (*problem.Problem)(nil); !errors.As(err, &missing) || missing.Status != http.StatusNotFound {
				return nil, err
			}
			regions = regions[n:]
			continue
		}
		if err := c.Add(g, spread(regions[:n], f.interval)...); err != nil {
			return nil, err
		}
		regions = regions[n:]
	}
	return c.Crossings(), nil
}

func spread(regions []read.RegionAt, interval time.Duration) []report.RegionAt {
	var at []report.RegionAt
	for i := range regions {
		at = append(at, report.RegionAt{Begin: regions[i].Time, End: regions[i].Time + schema.Instant(interval), Region: regions[i].Region})
	}
	return at
}

type regionCollectives struct {
	inSpan
	// Collectives with flows that crossed the region, those that it cost most first; among the newest 200 in the span.
	Collectives []regionCollective `json:"collectives"`
}

// regionCollective is a run of a job's collectives, and what a region cost it.
type regionCollective struct {
	Job      string             `json:"job_id"`
	RunID    string             `json:"run_id"`
	Begin    schema.Instant     `json:"begin"`
	End      schema.Instant     `json:"end"`
	Culprits []collective.Class `json:"culprits"` // of the whole run, the most costly first
	crossedRegion
}

// regionCollectives returns the collectives whose flows crossed a region.
func (d *Dashboards) regionCollectives(ctx context.Context, p *trackParameters) (*regionCollectives, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	history, err := d.trackOf(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &regionCollectives{inSpan: history.inSpan, Collectives: []regionCollective{}}
	if len(history.Intervals) == 0 {
		return out, nil
	}
	first, last := history.Intervals[0], history.Intervals[len(history.Intervals)-1]
	found, err := d.model.CollectiveReports(ctx, f.name, read.Span{From: first.Time, To: last.Time + schema.Instant(f.interval)}, read.MaxCollectiveReports)
	if err != nil || len(found) == 0 {
		return out, err
	}
	regions, err := d.regionsDuring(ctx, f, first.Time, last.Time, first.Region.Metric)
	if err != nil {
		return nil, err
	}
	for i := range found {
		crossings, err := d.crossings(ctx, f, &found[i].Report, regions)
		if err != nil {
			return nil, err
		}
		for _, c := range crossings {
			if c.Region == p.Region {
				out.Collectives = append(out.Collectives, regionCollectiveOf(&found[i], c))
			}
		}
	}
	slices.SortStableFunc(out.Collectives, func(a, b regionCollective) int { return cmp.Compare(b.CostNanos, a.CostNanos) })
	return out, nil
}

func regionCollectiveOf(p *report.Published, c report.Crossing) regionCollective {
	out := regionCollective{Job: p.Job, RunID: p.RunID, Begin: p.Begin, End: p.End(), Culprits: []collective.Class{}, crossedRegion: crossedRegion{c, c.Sentence(p.Job)}}
	for _, culprit := range p.Diagnosis.Culprits {
		out.Culprits = append(out.Culprits, culprit.Class)
	}
	return out
}
