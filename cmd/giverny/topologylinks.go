package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func newTopologyLinks() *cobra.Command {
	var asJSON, asCSV bool
	cmd := &cobra.Command{
		Use:   "links FILE|SPECIFICATION",
		Short: "List every link with its number",
		Long: `List every link with its number, the devices and ports that it leaves and enters,
the levels of both (0 host, 1 leaf, 2 spine or aggregation, 3 core, -1 unknown), its
class, and whether it is up. The number is that in the column "link" of a links CSV
and in regions.`,
		Example: "  giverny topology links fattree:k=16 --csv > links.csv\n  giverny topology links fabric.yaml --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			if asJSON && asCSV {
				return fmt.Errorf("--json and --csv: choose one")
			}
			graph, err := loadTopology(args[0], "", newLog(cmd, config.Default().Log))
			if err != nil {
				return err
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			write := writeLinksText
			switch {
			case asJSON:
				write = writeLinksJSON
			case asCSV:
				write = writeLinksCSV
			}
			if err := write(out, graph); err != nil {
				return err
			}
			return out.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object per line")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "comma-separated values with a header")
	return cmd
}

// listedLink is a link in the output of `topology links`.
type listedLink struct {
	ID       schema.LinkID `json:"link"`
	From     listedPort    `json:"from"`
	To       listedPort    `json:"to"`
	Class    string        `json:"class"`
	Capacity float64       `json:"capacity_bytes_per_second"`
	Up       bool          `json:"up"`
}

type listedPort struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	Level  int8   `json:"level"`
}

func eachLink(g *topology.Graph, yield func(listedLink) error) error {
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		from, to := g.Device(l.From), g.Device(l.To)
		if err := yield(listedLink{id, listedPort{from.Name, l.FromPort, from.Level}, listedPort{to.Name, l.ToPort, to.Level},
			l.Class.String(), l.CapacityBytesPerSecond, l.Up}); err != nil {
			return err
		}
	}
	return nil
}

func writeLinksJSON(w io.Writer, g *topology.Graph) error {
	lines := json.NewEncoder(w)
	return eachLink(g, func(l listedLink) error { return lines.Encode(l) })
}

func writeLinksCSV(w io.Writer, g *topology.Graph) error {
	table := csv.NewWriter(w)
	if err := table.Write([]string{"link", "from_device", "from_port", "from_level", "to_device", "to_port", "to_level", "class", "capacity_bytes_per_second", "up"}); err != nil {
		return err
	}
	err := eachLink(g, func(l listedLink) error {
		return table.Write([]string{strconv.Itoa(int(l.ID)), l.From.Device, l.From.Port, strconv.Itoa(int(l.From.Level)),
			l.To.Device, l.To.Port, strconv.Itoa(int(l.To.Level)), l.Class, strconv.FormatFloat(l.Capacity, 'f', -1, 64), strconv.FormatBool(l.Up)})
	})
	if err != nil {
		return err
	}
	table.Flush()
	return table.Error()
}

func writeLinksText(w io.Writer, g *topology.Graph) error {
	return eachLink(g, func(l listedLink) error {
		down := ""
		if !l.Up {
			down = " down"
		}
		_, err := fmt.Fprintf(w, "%d %s:%s (level %d) -> %s:%s (level %d) %s%s\n", l.ID, schema.OneLine(l.From.Device),
			schema.OneLine(l.From.Port), l.From.Level, schema.OneLine(l.To.Device), schema.OneLine(l.To.Port), l.To.Level, l.Class, down)
		return err
	})
}
