package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/topology"
)

type segmentFlags struct {
	topology, method, format string
	files                    []string
	overlap                  bool
	minLinks                 int
}

func newSegment(*globals) *cobra.Command {
	defaults := segment.DefaultConfig()
	var f segmentFlags
	cmd := &cobra.Command{
		Use:   "segment --topology TOPOLOGY --in FILE...",
		Short: "Find the congestion regions of single snapshots, offline",
		Long: `Find the congestion regions of single snapshots, offline.

Each file is a links CSV: a header, then a row per link. The column "link" holds
link numbers, or "x", "y", "z" the half-way point of the link on a torus or mesh;
the others are metrics in percent of time: credit, inq (short for credit_stall,
inq_stall) or any stall metric by name. An empty field is missing.

One JSON object per file goes to standard output, its regions ordered by metric,
then size. On a torus or mesh of k dimensions, link dim + k*(x + X*(y + Y*z))
leaves switch (x,y,z) in + direction of dim; a box holds both end switches of
every link, and its max is below its min where it crosses the wraparound.`,
		Example: "  giverny segment --topology torus:24x24x24 --in night.csv --format jsonl",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = append(f.files, args...) // --in A B C: a shell's pattern gives bare arguments
			return runSegment(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.topology, "topology", "", "specification such as torus:24x24x24, or a topology file")
	flags.StringArrayVar(&f.files, "in", nil, "links CSV; several may be given")
	flags.StringVar(&f.method, "method", string(defaults.Method), "statistical, or paper: Monet's algorithm as published")
	flags.BoolVar(&f.overlap, "overlap", defaults.Overlap, "a link may belong to two regions where their stalls add up")
	flags.IntVar(&f.minLinks, "min-links", defaults.MinLinks, "size under which a region does not count")
	flags.StringVar(&f.format, "format", "jsonl", "jsonl: one JSON object per file")
	_ = cmd.MarkFlagRequired("topology")
	return cmd
}

type segmentedFile struct {
	File    string            `json:"file"`
	Regions []segmentedRegion `json:"regions"`
}

type segmentedRegion struct {
	Metric   string          `json:"metric"`
	Links    []schema.LinkID `json:"links"`
	Size     int             `json:"size"`
	Mean     float64         `json:"mean"`
	Max      float64         `json:"max"`
	Severity schema.Severity `json:"severity"`
	Box      *schema.Box     `json:"box,omitempty"`
	Name     string          `json:"name"`
}

// shortMetric undoes the short names that a links CSV may use.
var shortMetric = map[schema.Metric]string{schema.CreditStall: "credit", schema.InqStall: "inq"}

func runSegment(cmd *cobra.Command, f segmentFlags) error {
	if f.format != "jsonl" {
		return fmt.Errorf("--format %q: want jsonl", f.format)
	}
	if len(f.files) == 0 {
		return fmt.Errorf("no files: give links CSVs with --in")
	}
	graph, err := config.LoadTopology(config.Fabric{Name: "fabric0", Topology: f.topology}, newLog(cmd, config.Default().Log))
	if err != nil {
		return err
	}
	cfg := segment.DefaultConfig()
	cfg.Method, cfg.Overlap, cfg.MinLinks = segment.Method(f.method), f.overlap, f.minLinks
	segmenter, err := segment.New(graph, cfg)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	enc := json.NewEncoder(out)
	for _, path := range f.files {
		snap, err := readLinks(path, graph)
		if err != nil {
			return err
		}
		if err := enc.Encode(segmentFile(path, graph, segmenter.Step(snap))); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func readLinks(path string, g *topology.Graph) (*schema.Snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	snap, err := linkscsv.Read(bufio.NewReaderSize(file, 1<<20), g)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return snap, nil
}

func segmentFile(path string, g *topology.Graph, regions []schema.Region) segmentedFile {
	j := segmentedFile{File: path, Regions: make([]segmentedRegion, len(regions))}
	for i, r := range regions {
		metric := shortMetric[r.Metric]
		if metric == "" {
			metric = r.Metric.String()
		}
		j.Regions[i] = segmentedRegion{metric, r.Links, r.Size, r.Mean, r.Max, r.Severity, r.Box, g.Describe(r.Links)}
	}
	return j
}
