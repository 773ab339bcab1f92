package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

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
				return errors.New("--json and --csv: choose one")
			}
			graph, err := givenTopology(cmd, args[0])
			if err != nil {
				return err
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			write := topology.WriteLinks
			switch {
			case asJSON:
				write = topology.WriteLinksJSON
			case asCSV:
				write = topology.WriteLinksCSV
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
