package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

func newTopology(g *globals) *cobra.Command {
	cmd := newFolder("topology", "Import, show and compare fabrics")
	cmd.AddCommand(newTopologyImport(), newTopologyShow(g), newTopologyLinks(), newTopologyDiff())
	return cmd
}

type importFlags struct {
	format, fabric, out, previous string
	gbps                          float64
	json                          bool
}

func newTopologyImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE|SPECIFICATION",
		Short: "Read a fabric and write it in Giverny's own format",
		Long: `Read a description of a fabric, or a specification such as fattree:k=16, and write it
in Giverny's own format.

Ports that are down may be absent from the input. With --previous, the result of
an earlier import, the links in it keep their numbers; those that are now absent
stay in the file, marked down.

NetQ, Slurm and a list of cables without the column gbps do not give the rates of
links. Those of --previous are kept; --gbps gives one to links without.`,
		Example: `  ibnetdiscover > fabric.txt
  giverny topology import --format ibnetdiscover fabric.txt --out fabric.yaml
  giverny topology import fabric.txt --previous fabric.yaml --out fabric.yaml --json
  giverny topology import netq.json --fabric plane0 --gbps 400 --out plane0.yaml
  giverny topology import fattree:k=16 --fabric ib0 --out ib0.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return importTopology(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", formatHelp()+"; empty: detected by the first lines")
	flags.StringVar(&f.fabric, "fabric", "", "name of the fabric; empty: the file's own, or "+topology.DefaultFabric)
	flags.StringVarP(&f.out, "out", "o", "", "file to write the fabric to (with --json; else standard output)")
	flags.StringVar(&f.previous, "previous", "", "an earlier import whose numbers are kept")
	flags.Float64Var(&f.gbps, "gbps", 0, "rate of links whose rate is unknown, Gb/s")
	flags.BoolVar(&f.json, "json", false, "print the counts as JSON instead of the fabric")
	return cmd
}

// formatHelp lists the readable formats.
func formatHelp() string {
	names := make([]string, len(topology.Formats))
	for i, f := range topology.Formats {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func importTopology(cmd *cobra.Command, path string, f importFlags) error {
	defer endAtOnce(cmd)()
	graph, err := readImport(path, f, newLog(cmd, config.Default().Log))
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("gbps") {
		if graph, err = withRate(graph, f.gbps); err != nil {
			return err
		}
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

// withRate gives links of unknown rate a rate. If there are none, the flag would silently do nothing.
func withRate(graph *topology.Graph, gbps float64) (*topology.Graph, error) {
	if !(gbps > 0) || math.IsInf(gbps, 0) {
		return nil, fmt.Errorf("--gbps %g: want the rate of a link in gigabits per second, such as 400", gbps)
	}
	graph, unknown := graph.WithRate(gbps * 1e9 / 8)
	if unknown == 0 {
		return nil, fmt.Errorf("--gbps %g: every link already has a rate, from the input or from --previous: omit it, or import without --previous", gbps)
	}
	return graph, nil
}

func readImport(path string, f importFlags, log *slog.Logger) (*topology.Graph, error) {
	if topology.IsSpec(path) {
		if f.previous != "" || f.format != "" {
			return nil, fmt.Errorf("%s is a specification, whose links have fixed numbers: omit --previous and --format", path)
		}
		return loadTopology(path, f.fabric, log)
	}
	var prev *topology.Graph
	if f.previous != "" {
		var err error
		if prev, err = config.ReadTopology(f.previous, "yaml", f.fabric, nil, log); err != nil {
			return nil, err
		}
	}
	return config.ReadTopology(path, f.format, f.fabric, prev, log)
}

// givenTopology returns the graph of a file or a specification on the command line.
func givenTopology(cmd *cobra.Command, source string) (*topology.Graph, error) {
	if source == "" {
		return nil, errors.New("no topology: give --topology, a specification such as torus:24x24x24 or a file")
	}
	return loadTopology(source, "", newLog(cmd, config.Default().Log))
}

// loadTopology reads a file or builds a specification; fabric, if not empty, overrides
// the name in the file.
func loadTopology(source, fabric string, log *slog.Logger) (*topology.Graph, error) {
	if topology.IsSpec(source) {
		return topology.Parse(cmp.Or(fabric, topology.DefaultFabric), source)
	}
	return config.ReadTopology(source, "", fabric, nil, log)
}

// writeTopology replaces the file atomically.
func writeTopology(path string, g *topology.Graph) error {
	return atomicfile.WriteOutputBy(path, func(w io.Writer) error { return topology.Write(w, g) }) // whose errors name the file
}

func printSummary(w io.Writer, g *topology.Graph, asJSON bool) error {
	s := topology.Summarize(g)
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintln(w, s)
	return err
}

func newTopologyShow(*globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILE|SPECIFICATION",
		Short: "Count what a fabric holds, or list its devices and links",
		Long: `Count the devices and links of a fabric. With --json, print one JSON object per line:
the fabric with the counts, then every device and every link with its number. The
fields are described in docs/reference/topology-format.md.`,
		Example: "  giverny topology show torus:24x24x24\n  giverny topology show fabric.yaml --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			graph, err := givenTopology(cmd, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return topology.WriteJSON(cmd.OutOrStdout(), graph)
			}
			return printSummary(cmd.OutOrStdout(), graph, false)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "list devices and links, a JSON object per line")
	return cmd
}

func newTopologyDiff() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "List what changed between two versions of a fabric",
		Long: `List the devices and links that were added, removed, recabled, went down, came up
or got another rate between two versions of a fabric, each a file or a specification.
Of what changed it prints the old and the new value. Links are compared by their ports,
devices by their names; a device with another name and the same GUID was renamed.`,
		Example: "  giverny topology diff fabric-monday.yaml fabric.yaml",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			var graphs [2]*topology.Graph
			for i, source := range args {
				var err error
				if graphs[i], err = givenTopology(cmd, source); err != nil {
					return err
				}
			}
			return printDiff(cmd.OutOrStdout(), graphs[0], graphs[1], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printDiff(w io.Writer, was, now *topology.Graph, asJSON bool) error {
	d := topology.Diff(was, now)
	if asJSON {
		return d.WriteJSON(w, was, now)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, &d)
	for _, line := range d.Lines(was, now) {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}
