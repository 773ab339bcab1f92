package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
		log.Info("topology: fabric loaded", "fabric", f.Name, "links", graph.NumLinks(), "devices", graph.NumDevices(), "took", time.Since(began))
		fabrics[i] = Fabric{f, graph}
	}
	return fabrics, nil
}

// FabricNamed is the configured fabric that a flag --fabric names, or without a name the only one.
func FabricNamed(fabrics []config.Fabric, name string) (config.Fabric, error) {
	var names []string
	for _, f := range fabrics {
		if f.Name == name || name == "" && len(fabrics) == 1 {
			return f, nil
		}
		names = append(names, f.Name)
	}
	switch {
	case len(names) == 0:
		return config.Fabric{}, errNoFabrics
	case name == "":
		return config.Fabric{}, fmt.Errorf("--fabric is missing: the configuration has %s", strings.Join(names, ", "))
	}
	return config.Fabric{}, fmt.Errorf("--fabric %q is not in the configuration; it has %s", name, strings.Join(names, ", "))
}
