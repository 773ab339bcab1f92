package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/internal/config"
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

func shown(fabrics []fabric) []dashboards.Fabric {
	list := make([]dashboards.Fabric, len(fabrics))
	for i, f := range fabrics {
		list[i] = dashboards.Fabric{Graph: f.graph, Interval: f.Interval()}
	}
	return list
}
