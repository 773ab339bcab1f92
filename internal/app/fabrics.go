package app

import (
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

// Fabric is a configured fabric with its graph.
type Fabric struct {
	config.Fabric
	Graph *topology.Graph
}

var errNoFabrics = errors.New("no fabric is configured: add one under fabrics, with a name and a topology")

// LoadFabrics builds the graphs of all configured fabrics.
func LoadFabrics(cfg []config.Fabric, log *slog.Logger) ([]Fabric, error) {
	if len(cfg) == 0 {
		return nil, errNoFabrics
	}
	fabrics := make([]Fabric, len(cfg))
	for i, f := range cfg {
		began := time.Now()
		graph, err := config.LoadTopology(f, log)
		if err != nil {
			return nil, err
		}
		log.Info("app: fabric loaded", "fabric", f.Name, "links", graph.NumLinks(), "devices", graph.NumDevices(), "took", time.Since(began))
		fabrics[i] = Fabric{f, graph}
	}
	return fabrics, nil
}
