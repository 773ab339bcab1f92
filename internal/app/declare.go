package app

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collective/watch"
	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/search/ondemand"
)

// declaredHost is a host with one GPU and one RNIC, in the format of nvidia-smi topo -m.
const declaredHost = "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-7\t0\nNIC0\tPIX\t X \t\t\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"

// DeclareMetrics creates every part that has metrics, with files in dir, so that they
// are registered; the metrics reference is generated from that.
func DeclareMetrics(reg prometheus.Registerer, dir string) error {
	cfg := config.Default()
	cfg.DataDir = dir
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition = "f", "torus:2x2", 0
	cfg.Fabrics = []config.Fabric{entry}
	cfg.Collect.Polling.Fabric, cfg.Collect.Polling.Interval = "f", entry.Interval()
	cfg.Command.Principals = []command.Principal{{Name: "operator", Keys: []string{base64.StdEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize))}}}
	if err := cfg.Collect.Sources.Enable("ibsysfs"); err != nil {
		return err
	}
	cfg.Collect.Traffic.Sections["lustre"].Enabled = true
	cfg.Collect.Collectives.Folders = []watch.Folder{{Dir: dir, Format: "simulated"}}
	cfg.Search.Offer.Engines = []ondemand.EngineConfig{{Name: "simulated", Kind: "simulated", Subsystem: "F"}}
	cfg.Search.Offer.Adapters = []string{"*"}
	graph := filepath.Join(dir, "host.txt")
	cfg.Store.Library = filepath.Join(dir, "libchdb.so") // it only has to exist
	if err := errors.Join(os.WriteFile(graph, []byte(declaredHost), 0o600), os.WriteFile(cfg.Store.Library, nil, 0o600)); err != nil {
		return err
	}
	cfg.Hostping.Host.Prober, cfg.Hostping.Host.Command, cfg.Hostping.Host.Graph = "exec", []string{"prober"}, graph
	cfg.Hostping.Monitor.Enabled = true
	p := New(cfg, "", slog.New(slog.DiscardHandler))
	p.registerer = reg
	if err := reg.Register(ops.BuildInfo("")); err != nil {
		return err
	}
	fabrics, err := LoadFabrics(cfg.Fabrics, p.log)
	if err != nil {
		return err
	}
	parts, err := p.Make(Role{Collect: true, Analyse: true, Serve: true}, fabrics)
	if err != nil {
		return err
	}
	_, _, agentErr := parts.agent.Stages()
	reader, err := bluewaters.NewReader(bluewaters.DefaultConfig("f"), bluewaters.File("none"))
	if err != nil {
		return err
	}
	_, replayErr := bluewaters.NewReplay(reader, 0, nil, p.log, reg)
	_, _, guardErr := p.guard()
	return errors.Join(agentErr, replayErr, guardErr)
}
