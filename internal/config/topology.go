package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/giverny/giverny/topology"
)

// IsTopologySpec tells a specification such as torus:8x8x8 from a file name.
func IsTopologySpec(s string) bool {
	kind, _, ok := strings.Cut(s, ":")
	return ok && oneOf(kind, "torus", "mesh", "fattree", "dragonfly")
}

// LoadTopology builds a fabric's graph from its specification or file. What the
// file says that could not be used is logged.
func LoadTopology(f Fabric, log *slog.Logger) (*topology.Graph, error) {
	if IsTopologySpec(f.Topology) {
		return topology.Parse(f.Name, f.Topology)
	}
	return ReadTopology(f.Topology, "", f.Name, nil, log)
}

// ReadTopology reads a fabric from a file in the named format, or in the one
// that its first lines show if format is empty. prev is an earlier version or
// nil.
func ReadTopology(path, format, fabric string, prev *topology.Graph, log *slog.Logger) (*topology.Graph, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("topology of fabric %q: %w", fabric, err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, topology.DetectSize)
	f, err := topology.FindFormat(format)
	if format == "" {
		head, peekErr := in.Peek(topology.DetectSize)
		if peekErr != nil && !errors.Is(peekErr, io.EOF) {
			return nil, fmt.Errorf("topology of fabric %q: %w", fabric, peekErr)
		}
		f, err = topology.DetectFormat(head)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g, warnings, err := f.Read(in, path, fabric, prev)
	for _, w := range warnings {
		log.Warn("topology", "fabric", fabric, "file", path, "warning", w)
	}
	return g, err
}
