package topology_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/topology"
)

// In an InfiniBand fabric any host sets its own description, which names devices.
func TestNamesDoNotReachTheTerminal(t *testing.T) {
	const name = "leaf\x1b[31m\u202e"
	b := topology.NewBuilder("f")
	at, to := b.Device(topology.Device{Name: name, Kind: topology.Switch}), b.Device(topology.Device{Name: "host", Kind: topology.Host})
	b.Both(topology.Link{From: at, To: to, FromPort: name, ToPort: "1", Class: topology.ClassHost, CapacityBytesPerSecond: 1e9, Dim: -1})
	graph, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := topology.WriteLinks(&text, graph); err != nil || strings.ContainsAny(text.String(), "\x1b\u202e") || !strings.Contains(text.String(), "leaf?[31m?") {
		t.Errorf("%v: %q", err, text.String())
	}
}
