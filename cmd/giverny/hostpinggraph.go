package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/draw"
	"github.com/giverny/giverny/hostping/simulated"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/plainfile"
)

type hostGraphFlags struct {
	format, out string
	json        bool
}

func newHostpingGraph() *cobra.Command {
	var f hostGraphFlags
	cmd := &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw the links between a host's RNICs, GPUs and memory nodes",
		Long: `Read a host's description and list its links: their ids, the path of each RNIC to
each GPU and memory node, and the affinitive endpoints of each RNIC. Assumptions
about what the file does not contain are listed. Links in series that no probe can
distinguish are one link.

FILE is the output of lstopo --of xml, NCCL (NCCL_TOPO_DUMP_FILE) or nvidia-smi
topo -m, or a built-in host, such as simulated:fig2.`,
		Example: `  lstopo --of xml host.xml
  giverny hostping graph host.xml --out host.svg
  giverny hostping graph host.xml --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			g, err := readHost(args[0], f.format)
			if err != nil {
				return err
			}
			if f.out != "" {
				if err := atomicfile.WriteOutput(f.out, []byte(draw.SVG(&g, nil))); err != nil {
					return err
				}
			}
			if f.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(g)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), draw.Text(&g))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "hwloc, nccl or nvidia-smi; empty: detected from the text")
	flags.StringVarP(&f.out, "out", "o", "", "also draw the graph to this SVG file")
	flags.BoolVar(&f.json, "json", false, "print the graph as JSON")
	return cmd
}

// maxHostFile bounds the size of a host description, in bytes.
const maxHostFile = 32 << 20

// simulatedHost begins the names of built-in hosts, as in simulated:fig2.
const simulatedHost = "simulated:"

// readHost reads a host's description, or returns a built-in host.
func readHost(path, format string) (hostping.Graph, error) {
	if name, ok := strings.CutPrefix(path, simulatedHost); ok {
		var names []string
		for _, m := range simulated.Machines() {
			if m.Name == name {
				return hostping.ReadGraph(path, []byte(m.XML()), hostping.Hwloc)
			}
			names = append(names, simulatedHost+m.Name)
		}
		return hostping.Graph{}, fmt.Errorf("%q: no such built-in host; want %s", path, strings.Join(names, ", "))
	}
	file, err := plainfile.OpenInput(path)
	if err != nil {
		return hostping.Graph{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(bounded.Reader(file, maxHostFile))
	if err != nil {
		return hostping.Graph{}, fmt.Errorf("read %s: %w", path, err)
	}
	return hostping.ReadGraph(path, text, hostping.Format(format))
}
