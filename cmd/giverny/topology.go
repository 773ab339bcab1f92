package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

func newTopology(g *globals) *cobra.Command {
	cmd := newFolder("topology", "Import and look at fabrics")
	cmd.AddCommand(newTopologyImport(), newTopologyShow(g))
	return cmd
}

type importFlags struct {
	format, fabric, out, previous string
	json                          bool
}

func newTopologyImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read a fabric and write it in Giverny's own format",
		Long: `Read what a fabric says of itself and write it in Giverny's own format.

Ports that are down may be absent from the input. With --previous, the result of
an earlier import, every link that it knew keeps its number; those that are
absent now stay in the file, marked down.`,
		Example: `  ibnetdiscover > fabric.txt
  giverny topology import --format ibnetdiscover fabric.txt --out fabric.yaml
  giverny topology import fabric.txt --previous fabric.yaml --out fabric.yaml --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return importTopology(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "ibnetdiscover, slurm, netq or yaml; empty: told from the first lines")
	flags.StringVar(&f.fabric, "fabric", "fabric0", "name of the fabric")
	flags.StringVarP(&f.out, "out", "o", "", "file to write the fabric to (with --json; else standard output)")
	flags.StringVar(&f.previous, "previous", "", "an earlier import whose numbers are to be kept")
	flags.BoolVar(&f.json, "json", false, "print the counts as JSON instead of the fabric")
	return cmd
}

func importTopology(cmd *cobra.Command, path string, f importFlags) error {
	log := newLog(cmd, config.Default().Log)
	var prev *topology.Graph
	if f.previous != "" {
		var err error
		if prev, err = config.ReadTopology(f.previous, "yaml", f.fabric, nil, log); err != nil {
			return err
		}
	}
	graph, err := config.ReadTopology(path, f.format, f.fabric, prev, log)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeTopology(f.out, graph); err != nil {
			return err
		}
	} else if !f.json {
		return topology.Write(cmd.OutOrStdout(), graph)
	}
	return printSummary(cmd.OutOrStdout(), graph, f.json)
}

// writeTopology replaces the file as a whole or not at all.
func writeTopology(path string, g *topology.Graph) (err error) {
	file, err := os.CreateTemp(dirOf(path), ".giverny-topology-*")
	if err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if err = errors.Join(topology.Write(file, g), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write topology to %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

func printSummary(w io.Writer, g *topology.Graph, asJSON bool) error {
	s := topology.Summarize(g)
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	fmt.Fprintf(w, "%s: %d switches, %d channel adapters (%d of them aggregation nodes), %d ports, %d links (%d down), version %s\n",
		s.Fabric, s.Switches, s.ChannelAdapters, s.AggregationNodes, s.Ports, s.Links, s.LinksDown, s.Version)
	return nil
}

func newTopologyShow(*globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show SPECIFICATION|FILE",
		Short:   "Count what a fabric holds",
		Example: "  giverny topology show torus:24x24x24\n  giverny topology show fabric.yaml --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			graph, err := config.LoadTopology(config.Fabric{Name: "fabric0", Topology: args[0]}, newLog(cmd, config.Default().Log))
			if err != nil {
				return err
			}
			return printSummary(cmd.OutOrStdout(), graph, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
