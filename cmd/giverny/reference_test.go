package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/refdocs"
)

//go:generate go test . -run TestReferencePagesAreCurrent -update

var update = flag.Bool("update", false, "write the reference pages instead of comparing them")

// docs/reference must match the code.
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
			cmd.PersistentFlags().Lookup("config").DefValue = "" // not specific to this machine
			refdocs.WriteCLI(b, cmd)
			return nil
		},
		"metrics.md": func(b *bytes.Buffer) error {
			recorder := refdocs.NewRecorder()
			err := app.DeclareMetrics(recorder, t.TempDir())
			refdocs.WriteMetrics(b, recorder)
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
