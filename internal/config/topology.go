package config

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/textmark"
	"github.com/giverny/giverny/topology"
)

// LoadTopology builds a configured fabric's graph from its specification or file. Unusable parts of the file are logged.
func LoadTopology(f Fabric, log *slog.Logger) (*topology.Graph, error) {
	return UpdateTopology(f, nil, log)
}

// UpdateTopology is LoadTopology for a later version of a graph. A file that gives the fabric another name is an error,
// since it probably describes another fabric.
func UpdateTopology(f Fabric, prev *topology.Graph, log *slog.Logger) (*topology.Graph, error) {
	if topology.IsSpec(f.Topology) {
		return topology.Parse(cmp.Or(f.Name, topology.DefaultFabric), f.Topology)
	}
	if err := plainfile.Check(f.Topology); err != nil { // only a command given on a terminal may wait for a pipe's writer
		return nil, fmt.Errorf("topology of %s: %w", nameOf(f.Name), err)
	}
	g, err := ReadTopology(f.Topology, "", f.Name, prev, log)
	if err != nil {
		return nil, err
	}
	if name := g.SourceName(); name != "" && name != topology.DefaultFabric && f.Name != "" && name != f.Name {
		return nil, fmt.Errorf("%s names this fabric %q, not %q; use one name, here or with giverny topology import --fabric", f.Topology, name, f.Name)
	}
	return g, nil
}

// ReadTopology reads a fabric from a file in the named format, or, if format is empty,
// the one detected from its first lines. fabric, if not empty, overrides the name in
// the file; prev is the previous version or nil.
func ReadTopology(path, format, fabric string, prev *topology.Graph, log *slog.Logger) (*topology.Graph, error) {
	file, err := plainfile.OpenInput(path)
	if kind, _, ok := strings.Cut(path, ":"); ok && errors.Is(err, os.ErrNotExist) && !strings.Contains(kind, "/") {
		return nil, fmt.Errorf("topology of %s: %w, and no specification has the kind %q: it is %s; a file is looked up in the working directory, or in that of the configuration which names it", nameOf(fabric), err, kind, topology.Kinds())
	}
	if err != nil {
		return nil, fmt.Errorf("topology of %s: %w", nameOf(fabric), err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(textmark.Skip(file), topology.DetectSize)
	f, err := topology.FindFormat(format)
	if format == "" {
		head, peekErr := in.Peek(topology.DetectSize)
		if peekErr != nil && !errors.Is(peekErr, io.EOF) {
			return nil, fmt.Errorf("topology of %s: %w", nameOf(fabric), peekErr)
		}
		f, err = topology.DetectFormat(head)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g, warnings, err := f.Read(in, path, fabric, prev)
	for _, w := range warnings {
		log.Warn("topology: input incomplete or in part ignored", "fabric", fabric, "file", path, "warning", w)
	}
	return g, err
}

func nameOf(fabric string) string {
	if fabric == "" {
		return "a fabric"
	}
	return fmt.Sprintf("fabric %q", fabric)
}
