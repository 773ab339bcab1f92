// Package promtest has no code: its test evaluates the alert rules with Prometheus'
// own engine. It is a module of its own, so that Prometheus is no dependency of
// Giverny: run `go test ./...` in this folder.
package promtest

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const rulesFile = "../prometheus/rules.yml"

// firing gives series, a sample a minute for half an hour, that make each alert fire.
var firing = map[string]string{
	"GivernyDown":           `up{job="giverny",instance="a"} 0x30`,
	"GivernyStoreNotReady":  `giverny_store_ready 0x30`,
	"GivernyLate":           "giverny_store_read_to_stored_seconds_bucket{le=\"100\"} 0x30\n  giverny_store_read_to_stored_seconds_bucket{le=\"400\"} 0+1x30\n  giverny_store_read_to_stored_seconds_bucket{le=\"+Inf\"} 0+1x30",
	"GivernyCollectorDrops": `giverny_collector_rows_dropped_total{reason="full"} 0+60x30`,
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
	"GivernyClocks":         `giverny_analyse_dropped{fabric="ib0",reason="clock_skew"} 0+5x30`,
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
  giverny_pipeline_last_reading_age_seconds{fabric="ib0"} 30x30
  giverny_pipeline_last_interval_age_seconds{fabric="ib0"} 30x30
  giverny_analyse_agents{fabric="ib0",state="silent"} 0x30
  giverny_coverage_ratio{fabric="ib0",metric="xmit_wait"} 0.98x30
  giverny_kafka_reachable{fabric="ib0",topic="giverny.counters"} 1x30
  giverny_kafka_lag_records{fabric="ib0",topic="giverny.counters"} 3x30
  giverny_kafka_dead_letters_total{reason="bad_crc"} 7x30
  giverny_analyse_dropped{fabric="ib0",reason="late"} 7x30
  giverny_spool_records{instance="h1"} 0x30
  giverny_engine_restarts_total{instance="a",reason="exit"} 1x30`

func TestEachAlertFires(t *testing.T) {
	alerts := fired(t, healthy)
	if len(alerts) > 0 {
		t.Errorf("with nothing wrong fire: %v", alerts)
	}
	for _, name := range alertNames(t) {
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

func groups(t *testing.T, l *promqltest.LazyLoader) map[string]*rules.Group {
	t.Helper()
	if _, err := os.Stat(rulesFile); err != nil {
		t.Fatal(err)
	}
	options := &rules.ManagerOptions{Context: context.Background(), NotifyFunc: func(context.Context, string, ...*rules.Alert) {}}
	if l != nil {
		options.QueryFunc, options.Appendable, options.Queryable = rules.EngineQueryFunc(l.QueryEngine(), l.Storage()), l.Storage(), l.Storage()
	}
	loaded, errs := rules.NewManager(options).LoadGroups(time.Minute, nil, "", nil, rulesFile)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return loaded
}

func alertNames(t *testing.T) (names []string) {
	for _, group := range groups(t, nil) {
		for _, rule := range group.AlertingRules() {
			names = append(names, rule.Name())
		}
	}
	return names
}

// fired are the alerts that fire after half an hour of the series.
func fired(t *testing.T, series string) (names []string) {
	t.Helper()
	l, err := promqltest.NewLazyLoader("load 1m\n  "+series+"\n", promqltest.LazyLoaderOpts{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all := groups(t, l)
	start := time.Unix(0, 0).UTC()
	for at := start; !at.After(start.Add(30 * time.Minute)); at = at.Add(time.Minute) {
		l.WithSamplesTill(at, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range all {
				group.Eval(context.Background(), at)
			}
		})
	}
	for _, group := range all {
		for _, rule := range group.AlertingRules() {
			if rule.State() == rules.StateFiring {
				names = append(names, rule.Name())
			}
		}
	}
	return names
}
