package read

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// Spread is the distribution of N values: half are at most Median, 99% at most P99.
type Spread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

type spreadRow struct {
	Severity  uint8     `ch:"severity"`
	N         uint64    `ch:"regions"`
	Quantiles []float64 `ch:"quantiles"`
	Max       float64   `ch:"highest"`
}

// SeveritySpreads are distributions by severity.
type SeveritySpreads [len(schema.Severities)]Spread

func (f *Figures) severitySpreads(ctx context.Context, query string, metric schema.Metric) (s SeveritySpreads, err error) {
	found, err := rolledUp[spreadRow](ctx, f, query, f.of(metric))
	for _, r := range found {
		s[r.Severity] = Spread{int(r.N), r.Quantiles[0], r.Quantiles[1], r.Max}
	}
	return s, err
}

// SizeSpread is the distribution of regions' numbers of links (section 5.1), a region counted once
// per interval.
func (f *Figures) SizeSpread(ctx context.Context, metric schema.Metric) (SeveritySpreads, error) {
	return f.severitySpreads(ctx, "size_quantiles", metric)
}

// DurationSpread is the distribution of regions' lives in minutes (section 5.1), by
// the highest severity that they reach.
func (f *Figures) DurationSpread(ctx context.Context, metric schema.Metric) (SeveritySpreads, error) {
	return f.severitySpreads(ctx, "duration_quantiles", metric)
}

// MeanSpread is the distribution of the means, in percent of time, of regions
// at Low or above (section 5.1), once per interval and rounded to a tenth.
func (f *Figures) MeanSpread(ctx context.Context, metric schema.Metric) (Spread, error) {
	found, err := rolledUp[struct {
		N         uint64    `ch:"regions"`
		Quantiles []float64 `ch:"quantiles"`
		Max       float64   `ch:"highest"`
	}](ctx, f, "mean_quantiles", f.of(metric))
	if err != nil || len(found) == 0 {
		return Spread{}, err
	}
	return Spread{int(found[0].N), found[0].Quantiles[0], found[0].Quantiles[1], found[0].Max}, nil
}

// NetworkTime is the number of intervals, and the time, that the network spent in each
// state (figure 6, the boxes).
type NetworkTime struct {
	Intervals [len(schema.Severities)]int           `json:"intervals"`
	Time      [len(schema.Severities)]time.Duration `json:"-"`
	Unknown   int                                   `json:"unknown_intervals"`
}

// Share is the share of a state in the time whose state is known; 0 if none is.
func (t *NetworkTime) Share(s schema.Severity) float64 {
	var all time.Duration
	for _, d := range t.Time {
		all += d
	}
	if all == 0 {
		return 0
	}
	return float64(t.Time[s]) / float64(all)
}

// NetworkTime returns the time in each state, by whichever metric.
func (f *Figures) NetworkTime(ctx context.Context) (t NetworkTime, err error) {
	found, err := rolledUp[struct {
		State     int8    `ch:"state"`
		Intervals uint64  `ch:"intervals"`
		Ms        float64 `ch:"total_ms"`
	}](ctx, f, "network_time", f.of(schema.NoMetric))
	for _, r := range found {
		if r.State < 0 {
			t.Unknown = int(r.Intervals)
			continue
		}
		t.Intervals[r.State], t.Time[r.State] = int(r.Intervals), time.Duration(r.Ms*1e6)
	}
	return t, err
}

// NetworkStep is a step of some hours with the time that the network spent in each state,
// by any metric.
type NetworkStep struct {
	Begin   schema.Instant                  `json:"begin"`
	Seconds [len(schema.Severities)]float64 `json:"seconds"`
	Unknown float64                         `json:"unknown_seconds"`
}

// NetworkSteps returns the network's state over a long span, in steps of whole hours.
func (f *Figures) NetworkSteps(ctx context.Context, hours int) ([]NetworkStep, error) {
	type row struct {
		Begin int64     `ch:"begin"`
		Ms    []float64 `ch:"state_ms"`
	}
	found, err := rolledUp[row](ctx, f, "network_hours", f.args().with("step", int64(hours)*3600))
	return convert(found, err, func(r *row) (NetworkStep, error) {
		step := NetworkStep{Begin: schema.Instant(r.Begin * 1e9), Unknown: r.Ms[0] / 1e3}
		for i := range step.Seconds {
			step.Seconds[i] = r.Ms[i+1] / 1e3
		}
		return step, nil
	})
}

// Peak describes a regions congestion event: the mean over its regions, each
// counted once per interval, and the highest mean of a region, in percent of time.
type Peak struct {
	Begin   schema.Instant `json:"begin"`
	Mean    float64        `json:"mean"`
	Highest float64        `json:"highest"`
}

// CongestionPeaks is figures 10a and 10b: the severity of regions congestion events by a
// metric.
func (f *Figures) CongestionPeaks(ctx context.Context, metric schema.Metric) ([]Peak, error) {
	type row struct {
		Begin   time.Time `ch:"begin"`
		Mean    float64   `ch:"mean"`
		Highest float64   `ch:"highest"`
	}
	found, err := rolledUp[row](ctx, f, "congestion_peaks", f.of(metric))
	return convert(found, err, func(r *row) (Peak, error) { return Peak{schema.InstantOf(r.Begin), r.Mean, r.Highest}, nil })
}

// Completeness says how much of a span is stored under one version of the graph.
type Completeness struct {
	GraphVersion Version        `json:"graph_version"`
	Intervals    int            `json:"intervals"`
	Known        int            `json:"known"` // with a known state
	Seconds      float64        `json:"seconds"`
	Links        int            `json:"links"`
	First        schema.Instant `json:"first"`
	Last         schema.Instant `json:"last"` // start of the last interval
}

// Completeness returns what is stored of a span, by version of the graph.
func (f *Figures) Completeness(ctx context.Context) ([]Completeness, error) {
	type row struct {
		Version   uint64    `ch:"graph_version"`
		Intervals uint64    `ch:"intervals"`
		Known     uint64    `ch:"known"`
		Ms        uint64    `ch:"total_ms"`
		Links     uint32    `ch:"most_links"`
		First     time.Time `ch:"first"`
		Last      time.Time `ch:"last"`
	}
	found, err := limited[row](ctx, f.model, "completeness", f.args())
	return convert(found, err, func(r *row) (Completeness, error) {
		return Completeness{Version(r.Version), int(r.Intervals), int(r.Known), float64(r.Ms) / 1e3, int(r.Links), schema.InstantOf(r.First), schema.InstantOf(r.Last)}, nil
	})
}

// Step is the time resolution of a link's history.
type Step time.Duration

// Steps of a link's history.
const (
	ByMinutes = Step(5 * time.Minute)
	ByHours   = Step(time.Hour)
)

// LinkStep summarises a link's metric in a step, in the metric's unit.
type LinkStep struct {
	Begin     schema.Instant `json:"begin"`
	Intervals int            `json:"intervals"` // in which it was measured
	Mean      float64        `json:"mean"`
	Max       float64        `json:"max"`
}

// FinestLinkHistory is LinkHistory by minutes, or by hours if the minutes of the span are no longer kept.
func (f *Figures) FinestLinkHistory(ctx context.Context, version uint64, metric schema.Metric, link schema.LinkID) ([]LinkStep, Step, error) {
	steps, err := f.LinkHistory(ctx, version, metric, link, ByMinutes)
	if err != nil || len(steps) > 0 {
		return steps, ByMinutes, err
	}
	steps, err = f.LinkHistory(ctx, version, metric, link, ByHours)
	return steps, ByHours, err
}

// LinkHistory returns one metric of one link of a graph version over a long span, without
// the steps in which it was not measured.
func (f *Figures) LinkHistory(ctx context.Context, version uint64, metric schema.Metric, link schema.LinkID, step Step) ([]LinkStep, error) {
	type row struct {
		Begin     int64   `ch:"begin"`
		Intervals uint16  `ch:"intervals"`
		Average   float64 `ch:"average"`
		Highest   float64 `ch:"highest"`
	}
	table := "link_hours"
	if step == ByMinutes {
		table = "link_minutes"
	}
	a := f.of(metric).with("version", version).with("table", table).with("bucket", int64(time.Duration(step)/time.Second)).
		with("block", uint32(link)/store.LinksPerBlock).with("element", uint32(link)%store.LinksPerBlock+1)
	found, err := rolledLinks[row](ctx, f, "link_history", a, true)
	return convert(found, err, func(r *row) (LinkStep, error) {
		return LinkStep{schema.Instant(r.Begin * 1e9), int(r.Intervals), r.Average, r.Highest}, nil
	})
}

// CauseShare says how often diagnoses gave one class of cause.
type CauseShare struct {
	Class       string  `json:"class"`
	Regions     int     `json:"regions"`   // that had it in at least one interval
	Diagnoses   int     `json:"diagnoses"` // regions, counted once per interval
	MeanPercent float64 `json:"mean_percent"`
	Accused     int     `json:"accused"` // diagnoses that accuse a job
}

// Causes returns the classes of the diagnoses of a span, the most frequent first.
func (f *Figures) Causes(ctx context.Context) ([]CauseShare, error) {
	type row struct {
		Class     string  `ch:"class"`
		Regions   uint64  `ch:"regions"`
		Diagnoses uint64  `ch:"diagnoses"`
		Mean      float64 `ch:"mean_percent"`
		Accused   int64   `ch:"accused"`
	}
	found, err := rolledUp[row](ctx, f, "causes", f.args())
	return convert(found, err, func(r *row) (CauseShare, error) {
		return CauseShare{r.Class, int(r.Regions), int(r.Diagnoses), r.Mean, int(r.Accused)}, nil
	})
}

// AccusedJob is the congestion of a span that the diagnoses attribute to a job.
type AccusedJob struct {
	JobID       string  `json:"job_id"`
	Name        string  `json:"name"`
	Regions     int     `json:"regions"`
	Diagnoses   int     `json:"diagnoses"`    // of regions, counted once per interval, that accuse it
	Blamed      float64 `json:"blamed"`       // sum of its blame in them
	MeanPercent float64 `json:"mean_percent"` // of the regions' stall, weighted by blame
}

// AccusedJobs returns the n jobs to which the stored diagnoses of a span attribute most congestion.
func (f *Figures) AccusedJobs(ctx context.Context, n int) ([]AccusedJob, error) {
	type row struct {
		JobID     string  `ch:"job_id"`
		Name      string  `ch:"name"`
		Regions   uint64  `ch:"regions"`
		Diagnoses uint64  `ch:"diagnoses"`
		Blamed    float64 `ch:"blamed"`
		Mean      float64 `ch:"mean_percent"`
	}
	found, err := limited[row](ctx, f.model, "accused_jobs", f.args().with("limit", n))
	return convert(found, err, func(r *row) (AccusedJob, error) {
		return AccusedJob{r.JobID, r.Name, int(r.Regions), int(r.Diagnoses), r.Blamed, r.Mean}, nil
	})
}

// StallMetrics returns the metrics by which the network had a state in any interval of a span.
func (f *Figures) StallMetrics(ctx context.Context) (metrics []schema.Metric, err error) {
	found, err := rolledUp[struct {
		Metric    string `ch:"metric"`
		Intervals uint64 `ch:"intervals"`
	}](ctx, f, "stall_metrics", f.args())
	for _, r := range found {
		if metric, err := schema.ParseMetric(r.Metric); err == nil {
			metrics = append(metrics, metric)
		}
	}
	return metrics, err
}

// LinkNames names links by the ports at their ends, unknown ones by their number.
func (f *Figures) LinkNames(ctx context.Context, version uint64, links []LinkRank) ([]string, error) {
	numbers, names := make([]uint32, len(links)), make([]string, len(links))
	for i, l := range links {
		numbers[i], names[i] = uint32(l.Link), fmt.Sprint(l.Link)
	}
	found, err := lookup[struct {
		Link uint32 `ch:"link"`
		Name string `ch:"name"`
	}](ctx, f.model, "link_names", Args{"fabric": f.fabric, "version": version, "links": numbers})
	for _, link := range found {
		names[slices.Index(numbers, link.Link)] = link.Name
	}
	return names, err
}
