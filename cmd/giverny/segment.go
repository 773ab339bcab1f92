package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/hotlinks"
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

Each file is a links CSV: a header, then a row per link. The columns "device" and
"port" hold the names of the port that the link leaves; or "link" its number; or "x",
"y", "z" its half-way point on a torus or mesh. The others are metrics in percent of
time: credit, inq (short for credit_stall, inq_stall) or any stall metric by name. An
empty field is missing. With a column "time" (RFC 3339, or seconds since 1970) the file
holds many intervals: rows of one interval share a time, in order. Lines that begin
with # are comments. Files may be compressed with gzip or Zstandard.

One JSON object per file, or per interval where there is a time, goes to standard
output, its regions ordered by metric, then size. On a torus or mesh of k dimensions,
link dim + k*(x + X*(y + Y*z)) leaves switch (x,y,z) in + direction of dim; a box holds
both end switches of every link, and its max is below its min where it crosses the
wraparound.

Where links have directions, regions are congestion trees, and "root" is the port
that a tree begins at: device, port, the peer at the other end of the port's link, and
that link; what is not known is null. Its kind is null too: stall does not show why a
tree grows, giverny diagnose finds that out. Where two trees share links and their
stalls do not add up there (both alone would explain them), stall does not tell which
tree a link waits for: it is in one of them, also with --overlap, but in both where they
begin at two ports of one switch. "hot_links" are the links that stall for 5% or more and
are in no region at Low or above, such as a single hot cable: the five hottest, each with
the port that it leaves and the peer that it feeds. The numbers of links are listed by
giverny topology links. The method in use is printed to standard error.`,
		Example: "  giverny segment --topology torus:24x24x24 --in night.csv --format jsonl",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			f.files = append(f.files, args...) // --in A B C: expanded glob patterns become arguments
			return runSegment(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.topology, "topology", "", "specification such as torus:24x24x24, or a topology file")
	flags.StringArrayVar(&f.files, "in", nil, "links CSV, also compressed (gzip, Zstandard); several may be given")
	flags.StringVar(&f.method, "method", string(defaults.Method), "statistical, or paper: Monet's algorithm as published")
	flags.BoolVar(&f.overlap, "overlap", defaults.Overlap, "a link may belong to two regions where their stalls add up")
	flags.IntVar(&f.minLinks, "min-links", defaults.MinLinks, "least number of links of a region, smaller groups are not reported; 0: derived from the fabric and its noise")
	// There is one format so far; the flag lets callers name it, so that others can be added.
	flags.StringVar(&f.format, "format", "jsonl", "jsonl: one JSON object per file or interval")
	return cmd
}

// segmented is the result for a file, or for one of its intervals.
type segmented struct {
	File    string            `json:"file"`
	Time    schema.Instant    `json:"time,omitzero"` // start of the interval, if the file has times
	Regions []segmentedRegion `json:"regions"`
	Hot     []hotlinks.Link   `json:"hot_links,omitempty"` // in no region
}

type segmentedRegion struct {
	Metric   schema.Metric   `json:"metric"`
	Links    []schema.LinkID `json:"links"`
	Size     int             `json:"size"`
	Mean     float64         `json:"mean"`
	Max      float64         `json:"max"`
	Severity schema.Severity `json:"severity"`
	Box      *schema.Box     `json:"box,omitempty"`
	Name     string          `json:"name"`
	Root     *schema.Root    `json:"root"` // what the region waits for; null if unknown
}

func runSegment(cmd *cobra.Command, f segmentFlags) error {
	if f.format != "jsonl" {
		return fmt.Errorf("--format %q: want jsonl", f.format)
	}
	if len(f.files) == 0 {
		return errors.New("no files: give links CSVs with --in")
	}
	graph, err := givenTopology(cmd, f.topology)
	if err != nil {
		return err
	}
	cfg := segment.DefaultConfig()
	cfg.Method, cfg.Overlap, cfg.MinLinks = segment.Method(f.method), f.overlap, f.minLinks
	segmenter, err := segment.New(graph, cfg)
	if err != nil {
		return ofFlags(cmd, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "giverny segment: method %s\n", segmenter.Describe())
	out := bufio.NewWriter(cmd.OutOrStdout())
	report := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "giverny segment:", line) }
	for _, path := range f.files {
		if err := segmentFile(path, graph, segmenter, report, out); err != nil {
			return err
		}
	}
	return nil
}

// segmentFile writes a line for each interval of a file.
func segmentFile(path string, g *topology.Graph, segmenter *segment.Segmenter, report func(string), out *bufio.Writer) error {
	file, err := plainfile.OpenInput(path)
	if err != nil {
		return err
	}
	defer file.Close()
	enc := json.NewEncoder(out)
	for snap, err := range linkscsv.Intervals(path, bufio.NewReaderSize(file, 1<<20), g, report) {
		if err != nil {
			return err
		}
		if err := enc.Encode(segmentedOf(path, g, snap, segmenter.Step(snap))); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func segmentedOf(path string, g *topology.Graph, snap *schema.Snapshot, regions []schema.Region) segmented {
	j := segmented{File: path, Time: schema.Instant(snap.Interval.StartNanos), Regions: make([]segmentedRegion, len(regions))}
	g.DescribeRegions(regions)
	for i, r := range regions {
		j.Regions[i] = segmentedRegion{r.Metric, r.Links, r.Size, r.Mean, r.Max, r.Severity, r.Box, r.Name, r.Root}
	}
	hot := hotlinks.Outside(g, snap, regions)
	j.Hot = hot[:min(len(hot), hotlinks.Named)]
	return j
}
