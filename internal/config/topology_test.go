package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/config"
)

// Text that is neither a file nor a specification is reported with the valid kinds.
func TestTopologiesThatAreNone(t *testing.T) {
	for given, want := range map[string]string{
		"leaf-spine:leaves=32": `no specification has the kind "leaf-spine": it is torus, mesh, fattree or dragonfly`,
		"torus:70000x2":        "want numbers from 2 to 65536",
		"torus:1x2":            "want numbers from 2 to 65536",
		"nosuch.yaml":          "nosuch.yaml: no such file or directory",
		"/no:such/dir.yaml":    "no such file or directory",
	} {
		_, err := config.LoadTopology(config.Fabric{Topology: given}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "no specification") != strings.Contains(want, "no specification") {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
}

// A byte order mark, as some editors write it, is no part of a file.
func TestATopologyWithAByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.conf")
	if err := os.WriteFile(path, []byte("\ufeffSwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := config.LoadTopology(config.Fabric{Topology: path}, slog.New(slog.DiscardHandler))
	if err != nil || len(g.Hosts()) != 4 {
		t.Errorf("%v", err)
	}
}
