package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/refdocs"
)

//go:generate go test . -run TestReferencePagesAreCurrent -update

var update = flag.Bool("update", false, "write the reference pages instead of comparing them")

// docs/reference must say what the code does.
func TestReferencePagesAreCurrent(t *testing.T) {
	const root = "../.."
	pages := map[string]func(*bytes.Buffer) error{
		"configuration.md": func(b *bytes.Buffer) error {
			cfg := config.Default()
			return refdocs.Config(b, &cfg, root, config.Prefix)
		},
		"counters.md": func(b *bytes.Buffer) error { refdocs.WriteCounters(b); return nil },
		"cli.md": func(b *bytes.Buffer) error {
			cmd := newRoot()
			cmd.PersistentFlags().Lookup("config").DefValue = "" // not this machine's
			refdocs.WriteCLI(b, cmd)
			return nil
		},
		"metrics.md": func(b *bytes.Buffer) error {
			recorder, err := everyPart(t)
			if err == nil {
				refdocs.WriteMetrics(b, recorder)
			}
			return err
		},
	}
	for name, write := range pages {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, "docs/reference", name)
		if *update {
			if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if was, err := os.ReadFile(path); err != nil || !bytes.Equal(was, page.Bytes()) {
			t.Errorf("docs/reference/%s is not what the code says; run make generate", name)
		}
	}
}

// everyPart makes, inert, all parts that register metrics.
func everyPart(t *testing.T) (*refdocs.Recorder, error) {
	recorder := refdocs.NewRecorder()
	p := newProcess(config.Default(), slog.New(slog.DiscardHandler))
	p.registerer = recorder
	p.cfg.DataDir = t.TempDir()
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition = "f", "torus:2x2", 0
	p.cfg.Fabrics = []config.Fabric{entry}
	p.cfg.Collect.Polling.Fabric, p.cfg.Collect.Polling.Interval = "f", entry.Interval()
	p.cfg.Command.Principals = []command.Principal{{Name: "operator", Keys: []string{base64.StdEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize))}}}
	if err := p.cfg.Collect.Sources.Enable("ibsysfs"); err != nil {
		return nil, err
	}
	fabrics, err := loadFabrics(p.cfg.Fabrics, p.log)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.useKafka(), p.useStore()); err != nil {
		return nil, err
	}
	_, analyseErr := p.analysers(fabrics, nil)
	_, auditErr := p.audit()
	_, pageErr := p.pages(fabrics)
	agent, agentErr := p.agent()
	if agentErr != nil {
		return nil, agentErr
	}
	_, _, agentErr = agent.Stages()
	reader, readerErr := bluewaters.NewReader(bluewaters.DefaultConfig("f"), bluewaters.File("none"))
	if readerErr != nil {
		return nil, readerErr
	}
	_, replayErr := bluewaters.NewReplay(reader, 0, nil, p.log, p.registerer)
	return recorder, errors.Join(analyseErr, auditErr, pageErr, agentErr, replayErr)
}
