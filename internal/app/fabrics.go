package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

// Fabric is a configured fabric with its graph.
type Fabric struct {
	config.Fabric
	Graph   *topology.Graph
	refused error // why its file was rejected at the start; Graph is then the previous version
}

var errNoFabrics = errors.New("no fabric is configured: add one under fabrics, with a name and a topology, to the file that --config or GIVERNY_CONFIG names")

// LoadFabrics builds the graphs of all configured fabrics.
func LoadFabrics(cfg []config.Fabric, log *slog.Logger) ([]Fabric, error) {
	return loadFabrics(cfg, log, func(_ int, f config.Fabric) (Fabric, error) {
		graph, err := config.LoadTopology(f, log)
		return Fabric{Fabric: f, Graph: graph}, err
	})
}

// CheckFabrics is LoadFabrics with errors that name their place in the configuration.
func CheckFabrics(cfg *config.Config, log *slog.Logger) ([]Fabric, error) {
	return loadFabrics(cfg.Fabrics, log, func(i int, f config.Fabric) (Fabric, error) {
		graph, err := config.LoadTopology(f, log)
		return Fabric{Fabric: f, Graph: graph}, locatedTopology(cfg, i, err)
	})
}

// locatedTopology adds to an error of a fabric's topology the place that names it.
func locatedTopology(cfg *config.Config, i int, err error) error {
	if err == nil {
		return nil
	}
	return cfg.Located(fmt.Errorf("fabrics.%d (%s).topology: %w", i, cfg.Fabrics[i].Name, err), os.Environ())
}

// StartFabrics is LoadFabrics for a long-running process: if a fabric's file cannot be read, the last version in
// force is used, if this host has a copy.
func StartFabrics(cfg *config.Config, log *slog.Logger) ([]Fabric, error) {
	kept := newKeptGraphs(cfg, log)
	return loadFabrics(cfg.Fabrics, log, func(i int, f config.Fabric) (Fabric, error) {
		graph, err := config.LoadTopology(f, log)
		switch {
		case topology.IsSpec(f.Topology):
		case err == nil:
			kept.keep(f.Topology, graph)
		default:
			if before := kept.last(f); before != nil {
				log.Error("topology: file rejected at startup, the previous version stays in force", "fabric", f.Name, "error", err)
				return Fabric{f, before, err}, nil
			}
		}
		return Fabric{Fabric: f, Graph: graph}, locatedTopology(cfg, i, err)
	})
}

func loadFabrics(cfg []config.Fabric, log *slog.Logger, load func(i int, f config.Fabric) (Fabric, error)) ([]Fabric, error) {
	if len(cfg) == 0 {
		return nil, errNoFabrics
	}
	fabrics := make([]Fabric, len(cfg))
	for i, f := range cfg {
		began := time.Now()
		var err error
		if fabrics[i], err = load(i, f); err != nil {
			return nil, err
		}
		graph := fabrics[i].Graph
		log.Info("topology: fabric loaded", "fabric", f.Name, "links", graph.NumLinks(), "devices", graph.NumDevices(), "took", time.Since(began))
	}
	return fabrics, nil
}

// FabricNamed returns the configured fabric of a flag --fabric, or without a name the only one.
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
