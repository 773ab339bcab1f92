package dashboards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type interval struct {
	Start           schema.Instant `json:"start"`
	End             schema.Instant `json:"end"`
	DurationSeconds float64        `json:"duration_seconds"`
}

// snapshot is an interval. Links are numbered as in that version of the graph.
type snapshot struct {
	Interval       interval                `json:"interval"`
	GraphVersion   read.Version            `json:"graph_version"`
	LatencySeconds float64                 `json:"latency_seconds"` // from counter to store
	Coverage       map[string]float64      `json:"coverage"`        // share of the links with a value, by metric
	Values         map[string][]percent    `json:"values"`          // by metric and link; null where missing
	Regions        []schema.Region         `json:"regions"`
	Diagnoses      []schema.Diagnosis      `json:"diagnoses"` // of these regions
	States         []schema.NetworkState   `json:"states"`    // by metric
	Network        schema.NetworkForecast  `json:"network"`
	Congestion     *schema.CongestionEvent `json:"congestion"` // null if there is none
	Hot            []schema.HotLink        `json:"hot"`        // the links that have been hot longest

	tag, fabric string
	links       int
	series      []schema.Series // Values as stored, for tables
}

// ETag is derived from the stored interval and the request's parameters.
func (s *snapshot) ETag() string { return s.tag }

// percent is a percentage rounded to two decimals; NaN, a missing value, is encoded as null.
type percent float32

// MarshalJSON implements json.Marshaler.
func (v percent) MarshalJSON() ([]byte, error) {
	if v != v {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(float64(v)*100)/100, 'f', -1, 64), nil
}

type snapshotParameters struct {
	ofFabric
	operation.Conditional
	At          *moment         `query:"at" doc:"The last interval that starts at this time or earlier, instead of the newest."`
	MinSeverity schema.Severity `query:"min_severity" doc:"Only regions of this severity or higher."`
	Metrics     []schema.Metric `query:"metrics" doc:"Only values of these metrics, separated by commas; default: all."`
	Values      bool            `query:"values" default:"true" doc:"false omits the values of the links."`
}

// tagOf returns the entity tag of an interval for these parameters.
func (p *snapshotParameters) tagOf(s *read.Stored) string {
	asked := url.Values{"metrics": nil}
	for _, m := range p.Metrics {
		asked.Add("metrics", m.String())
	}
	return operation.TagOf(fmt.Append(nil, s.StartNanos, s.StoredAtNanos, s.GraphVersion, s.Revision, p.MinSeverity, p.Values, asked.Encode()))
}

// snapshot returns the newest interval, or the one at the given time; nil if there is none.
func (d *Dashboards) snapshot(ctx context.Context, p *snapshotParameters) (*snapshot, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	at := read.Newest
	if p.At != nil {
		at = schema.Instant(*p.At)
	}
	stored, err := d.model.StoredAt(ctx, f.name, at)
	if errors.Is(err, read.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tag := p.tagOf(&stored)
	if p.Has(tag) {
		return nil, operation.NotModified(tag)
	}
	ask := d.model.Findings
	if p.Values {
		ask = d.model.Result
	}
	result, err := ask(ctx, f.name, stored)
	if err != nil {
		return nil, err
	}
	s := &snapshot{Interval: interval{schema.Instant(stored.StartNanos), schema.Instant(stored.EndNanos()), float64(stored.DurationNanos) / 1e9},
		GraphVersion: read.Version(stored.GraphVersion), LatencySeconds: stored.Latency().Seconds(), Coverage: map[string]float64{}, Values: map[string][]percent{},
		Regions: worstFirst(result.Regions, p.MinSeverity), States: append([]schema.NetworkState{}, result.States...),
		Network: result.Network, Congestion: result.Congestion, Hot: append([]schema.HotLink{}, result.Hot...), tag: tag, fabric: f.name, links: stored.Links}
	s.Diagnoses = slices.DeleteFunc(append([]schema.Diagnosis{}, result.Diagnoses...), func(d schema.Diagnosis) bool { return d.Severity < p.MinSeverity })
	for metric := range stored.Measured {
		if metric.IsStall() && p.wants(metric) {
			s.Coverage[metric.String()] = stored.Coverage(metric)
		}
	}
	if p.Values {
		s.addValues(result.Snapshot, p)
	}
	return s, nil
}

func (p *snapshotParameters) wants(metric schema.Metric) bool {
	return len(p.Metrics) == 0 || slices.Contains(p.Metrics, metric)
}

// addValues adds the link values of the requested metrics.
func (s *snapshot) addValues(from *schema.Snapshot, p *snapshotParameters) {
	for i := range from.Series {
		series := &from.Series[i]
		if !p.wants(series.Metric) {
			continue
		}
		s.series = append(s.series, *series)
		values := make([]percent, len(series.Values))
		for l, v := range series.Values {
			if values[l] = percent(v); !series.Valid.Has(l) {
				values[l] = percent(math.NaN())
			}
		}
		s.Values[series.Metric.String()] = values
	}
}

// worstFirst returns the regions of at least a severity, ordered by severity and then by mean, descending.
func worstFirst(regions []schema.Region, least schema.Severity) []schema.Region {
	worst := slices.DeleteFunc(append([]schema.Region{}, regions...), func(r schema.Region) bool { return r.Severity < least })
	slices.SortStableFunc(worst, func(a, b schema.Region) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Mean, a.Mean))
	})
	return worst
}
