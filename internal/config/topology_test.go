package config_test

import (
	"log/slog"
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
