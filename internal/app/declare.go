package app

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
)

// DeclareMetrics makes every part that has metrics, inert, with files in dir, so
// that each registers its own; the reference of metrics is made from that.
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
	p := New(cfg, "", slog.New(slog.DiscardHandler))
	p.registerer = reg
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
