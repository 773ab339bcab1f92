package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// fabric is a configured fabric with its graph.
type fabric struct {
	config.Fabric
	graph *topology.Graph
}

var errNoFabrics = errors.New("no fabric is configured: add one under fabrics, with a name and a topology")

// loadFabrics builds the graphs of all configured fabrics.
func loadFabrics(cfg []config.Fabric, log *slog.Logger) ([]fabric, error) {
	if len(cfg) == 0 {
		return nil, errNoFabrics
	}
	fabrics := make([]fabric, len(cfg))
	for i, f := range cfg {
		began := time.Now()
		graph, err := config.LoadTopology(f, log)
		if err != nil {
			return nil, err
		}
		log.Info("fabric loaded", "fabric", f.Name, "links", graph.NumLinks(), "devices", graph.NumDevices(), "took", time.Since(began))
		fabrics[i] = fabric{f, graph}
	}
	return fabrics, nil
}

// minLateness is what a busy host or broker may take in any case. It costs no
// time while everybody reports: intervals then close at once.
const minLateness = 2 * time.Second

// analysis translates the fabric's entry for the core.
func (f *fabric) analysis() analysis.Config {
	cfg := analysis.DefaultConfig()
	cfg.Window.IntervalNanos = f.Interval.Nanoseconds()
	lateness := f.AllowedLateness
	if lateness == 0 {
		lateness = max(f.Interval/2, minLateness)
	}
	cfg.Window.ClockLatenessNanos = lateness.Nanoseconds()
	cfg.Window.MaxGapIntervals = f.MaxGapIntervals
	cfg.Window.TickPicoseconds = f.TickPicoseconds
	cfg.Segment.Method = segment.Method(f.Segment.Method)
	cfg.Segment.Overlap = f.Segment.Overlap
	cfg.Segment.Metrics = f.Segment.Metrics
	cfg.Segment.MinLinks = f.Segment.MinLinks
	cfg.Track.GapIntervals, cfg.Track.HoldIntervals, cfg.Track.EventWindow = f.Tracking.GapIntervals, f.Tracking.HoldIntervals, f.Tracking.CongestionWindow
	cfg.Hot.ThresholdsPercent, cfg.Hot.ListPercent, cfg.Hot.ListLinks = f.Tracking.HotThresholds, f.Tracking.HotPercent, f.Tracking.HotLinks
	return cfg
}

func shown(fabrics []fabric) []dashboards.Fabric {
	list := make([]dashboards.Fabric, len(fabrics))
	for i, f := range fabrics {
		list[i] = dashboards.Fabric{Graph: f.graph, Interval: f.Interval}
	}
	return list
}

// fabricPartitions is where each fabric's records go.
func fabricPartitions(fabrics []config.Fabric) map[string]int {
	partitions := make(map[string]int, len(fabrics))
	for _, f := range fabrics {
		partitions[f.Name] = f.Partition
	}
	return partitions
}

// partitionsOf is how many partitions topics need for the fabrics.
func partitionsOf(fabrics []config.Fabric) int {
	n := 1
	for _, f := range fabrics {
		n = max(n, f.Partition+1)
	}
	return n
}
