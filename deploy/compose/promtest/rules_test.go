// Package promtest has no code: its test evaluates the alert rules with Prometheus'
// own engine. It is a module of its own, so that Prometheus is no dependency of
// Giverny: run `go test ./...` in this folder.
package promtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const rulesFile = "../prometheus/rules.yml"

const step = time.Minute

var start, end = time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC().Add(30 * step)

// firing gives series, a sample a minute for half an hour, that make each alert fire.
var firing = map[string]string{
	"GivernyDown":           `up{job="giverny",instance="a"} 0x30`,
	"GivernyStoreNotReady":  `giverny_store_ready 0x30`,
	"GivernyLate":           "giverny_store_read_to_stored_seconds_bucket{le=\"100\"} 0x30\n  giverny_store_read_to_stored_seconds_bucket{le=\"400\"} 0+1x30\n  giverny_store_read_to_stored_seconds_bucket{le=\"+Inf\"} 0+1x30",
	"GivernyCollectorDrops": `giverny_collector_rows_dropped_total{reason="late"} 0+60x30`,
	"GivernyRollUpsFail":    `giverny_store_roll_up_failures_total{fabric="ib0"} 0+1x30`,
	"GivernyStoreDrops":     `giverny_store_values_dropped_total{reason="not_finite"} 0+60x30`,
	"GivernyNetworkUnknown": `giverny_network_unknown{fabric="ib0",reason="no_readings"} 1x30`,
	"GivernyNoReadings":     `giverny_pipeline_last_reading_age_seconds{fabric="ib0"} 0+60x30`,
	"GivernyNoInterval":     `giverny_pipeline_last_interval_age_seconds{fabric="ib0"} 0+60x30`,
	"GivernyAgentsSilent":   `giverny_analyse_agents{fabric="ib0",state="silent"} 3x30`,
	"GivernyCoverageLow":    `giverny_coverage_ratio{fabric="ib0",metric="xmit_wait"} 1x5 0.5x25`,
	"GivernyNoOwner":        `giverny_pipeline_owner{fabric="ib0",instance="a"} 0x30`,
	"GivernyKafkaAway":      `giverny_kafka_reachable{fabric="ib0",topic="giverny.counters"} 0x30`,
	"GivernyKafkaLag":       `giverny_kafka_lag_records{fabric="ib0",topic="giverny.counters"} 5000x30`,
	"GivernyDeadLetters":    `giverny_kafka_dead_letters_total{reason="bad_crc"} 0+5x30`,
	"GivernyRecordsLost":    `giverny_kafka_lost_records_total{reason="offset_gap"} 0+5x30`,
	"GivernyClocks":         `giverny_analyse_dropped_total{fabric="ib0",reason="clock_skew"} 0+5x30`,
	"GivernyFeed":           `giverny_feed_state{instance="h1",feed="jobs.squeue",state="unmatched"} 1x30`,
	"GivernyTopologyStale":  `giverny_topology_stale{fabric="ib0",instance="a"} 1x30`,
	"GivernySpoolGrows":     `giverny_spool_records{instance="h1"} 100x30`,
	"GivernySpoolDrops":     `giverny_spool_dropped_total{instance="h1",reason="full"} 0+5x30`,
	"GivernyEngineRestarts": `giverny_engine_restarts_total{instance="a",reason="exit"} 0+1x30`,
	"GivernyPipelineFaults": `giverny_pipeline_faults_total{fabric="ib0",part="analysis"} 0+1x30`,
	"GivernyForgedResults":  `giverny_command_results_refused_total{fabric="ib0",reason="bad_signature"} 0+1x30`,
	"GivernyResultsRefused": `giverny_pipeline_refused_total{fabric="ib0",sink="store"} 0+1x30`,
}

// healthy are the series of a fabric with which nothing is wrong; NaN lag is that of
// a broker that is away, which GivernyKafkaAway reports.
const healthy = `up{job="giverny",instance="a"} 1x30
  giverny_store_ready 1x30
  giverny_pipeline_owner{fabric="ib0",instance="a"} 1x30
  giverny_pipeline_owner{fabric="ib0",instance="b"} 0x30
  giverny_pipeline_last_reading_age_seconds{fabric="ib0",instance="b"} NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN
  giverny_kafka_reachable{fabric="ib0",instance="b",topic="giverny.counters"} NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN
  giverny_network_unknown{fabric="ib0",reason="no_readings"} 0x30
  giverny_network_unknown{fabric="ib0",reason="no_owner",instance="a"} 0x30
  giverny_network_unknown{fabric="ib0",reason="no_owner",instance="b"} 1x30
  giverny_pipeline_last_reading_age_seconds{fabric="ib0"} 30x30
  giverny_pipeline_last_interval_age_seconds{fabric="ib0"} 30x30
  giverny_analyse_agents{fabric="ib0",state="silent"} 0x30
  giverny_coverage_ratio{fabric="ib0",metric="xmit_wait"} 0.98x30
  giverny_kafka_reachable{fabric="ib0",topic="giverny.counters"} 1x30
  giverny_kafka_lag_records{fabric="ib0",topic="giverny.counters"} 3x30
  giverny_kafka_dead_letters_total{reason="bad_crc"} 7x30
  giverny_analyse_dropped_total{fabric="ib0",reason="late"} 7x30
  giverny_topology_stale{fabric="ib0",instance="a"} 0x30
  giverny_spool_records{instance="h1"} 0x30
  giverny_engine_restarts_total{instance="a",reason="exit"} 1x30`

func TestEachAlertFires(t *testing.T) {
	alerts := fired(t, healthy)
	if len(alerts) > 0 {
		t.Errorf("with nothing wrong fire: %v", alerts)
	}
	for _, rule := range alertingRules(t) {
		name := rule.Alert.Value
		series, ok := firing[name]
		if !ok {
			t.Errorf("%s: no series make it fire", name)
			continue
		}
		if alerts := fired(t, series); !slices.Contains(alerts, name) {
			t.Errorf("%s does not fire on %s; these do: %v", name, series, alerts)
		}
	}
}

// The store's alert covers rows that the server does not keep as well as values that no column can hold.
func TestDroppedRowsOfTheStore(t *testing.T) {
	if alerts := fired(t, `giverny_store_rows_dropped_total{reason="missing_after_insert"} 0+60x30`); !slices.Equal(alerts, []string{"GivernyStoreDrops"}) {
		t.Errorf("fired: %v", alerts)
	}
}

// While no process owns a fabric, its state is unknown, although no analyser has a reason of its own.
func TestAFabricWithoutAnOwnerIsUnknown(t *testing.T) {
	const unowned = `giverny_network_unknown{fabric="ib0",reason="no_owner",instance="a"} 1x30
  giverny_network_unknown{fabric="ib0",reason="no_owner",instance="b"} 1x30
  giverny_network_unknown{fabric="ib0",reason="no_readings",instance="a"} 0x30`
	if alerts := fired(t, unowned); !slices.Equal(alerts, []string{"GivernyNetworkUnknown"}) {
		t.Errorf("fired: %v", alerts)
	}
}

// alertingRules are the rules of the file, with their expressions and templates checked.
func alertingRules(t *testing.T) []rulefmt.RuleNode {
	t.Helper()
	file, errs := rulefmt.ParseFile(rulesFile)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var all []rulefmt.RuleNode
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	for _, rule := range all {
		if rule.Alert.Value == "" || rule.KeepFiringFor != 0 {
			t.Fatalf("%+v: only alerts that end at once are evaluated here", rule)
		}
	}
	return all
}

// fired are the alerts that fire after half an hour of the series: those whose expression has had a result of the same
// labels for as long as the rule wants. Prometheus' package of rules is not used: it imports every service discovery
// and cloud that Prometheus knows, which take longer to compile than all the rest of this module.
func fired(t *testing.T, text string) (names []string) {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: time.Minute})
	series := parse(t, text)
	for _, rule := range alertingRules(t) {
		since := map[string]time.Time{} // when each result began
		for at := start; !at.After(end); at = at.Add(step) {
			now := map[string]time.Time{}
			for _, metric := range results(t, engine, series, rule.Expr.Value, at) {
				now[metric] = at
				if began, ok := since[metric]; ok {
					now[metric] = began
				}
			}
			since = now
		}
		holds := func(began time.Time) bool { return end.Sub(began) >= time.Duration(rule.For) }
		if slices.ContainsFunc(slices.Collect(maps.Values(since)), holds) {
			names = append(names, rule.Alert.Value)
		}
	}
	return names
}

// results are the labels of an expression's results.
func results(t *testing.T, engine *promql.Engine, series storage.Queryable, expression string, at time.Time) (metrics []string) {
	t.Helper()
	query, err := engine.NewInstantQuery(t.Context(), series, nil, expression, at)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	for _, sample := range vector {
		metrics = append(metrics, sample.Metric.String())
	}
	return metrics
}

// parse reads series, one a line, with a sample a step from start on.
func parse(t *testing.T, text string) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for line := range strings.Lines(text) {
		metric, values, err := parser.ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		var points []promql.FPoint
		for i, v := range values {
			points = append(points, promql.FPoint{T: start.Add(time.Duration(i) * step).UnixMilli(), F: v.Value})
		}
		all = append(all, promql.NewStorageSeries(promql.Series{Metric: metric, Floats: points}))
	}
	querier := &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		return &selected{series: slices.DeleteFunc(slices.Clone(all), func(s storage.Series) bool {
			return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
		})}
	}}
	return &storage.MockQueryable{MockQuerier: querier}
}

// selected is a set of series whose first is before the next.
type selected struct {
	series []storage.Series
	next   int
}

func (s *selected) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *selected) At() storage.Series                { return s.series[s.next-1] }
func (s *selected) Err() error                        { return nil }
func (s *selected) Warnings() annotations.Annotations { return nil }
