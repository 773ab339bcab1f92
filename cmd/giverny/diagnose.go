package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/diagnose/listing"
	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/diagnose/sitefiles"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/hotlinks"
	"github.com/giverny/giverny/store/read"
)

type diagnoseFlags struct {
	// Offline.
	topology, method string
	interval         time.Duration
	files            sitefiles.Paths
	timeZone         string
	skipUnknown      bool
	// From the store.
	fabric, region, at, from, to string

	json bool
}

func newDiagnose(g *globals) *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose",
		Short: "Explain why a fabric is congested and who should act",
		Long: `Explain why a fabric is congested and who should act: from files, by the same
analysis as for live data, or from the store.

From files: --links is a links CSV as for giverny segment, with a column "time";
rows of one interval share a time, intervals in order. --jobs has a job per line
of JSON: {"job_id":"17","name":"PSDNS","user":"flow","nodes":["9,1,1","10,1,1"],
"start":"2026-01-05T00:30:00Z","end":"2026-01-05T01:10:00Z"}; end is absent while
it runs; nodes are devices of the topology, or host lists (nid[00012-00095]) with
--node-map, lines of node, tab, device. --traffic is a CSV: time, job_id,
read_bytes, write_bytes, rdma_read_bytes, rdma_write_bytes, sums over the job's
nodes in the interval that begins at time; an empty field was not measured.
--failures has lines of time, kind, device, port, detail, separated by tabs,
commas or semicolons; kinds are link_failed, link_restored, switch_failed, switch_restored,
node_failed, node_restored and protection; or it is a log of opensm, ibdiagnet,
netwatch or syslog. Files may be compressed with gzip or Zstandard. giverny
simulate run --out writes all of them.

From the store: --config, and one of --region, --at, --from. Without --to a time span ends
with the newest stored interval. --fabric may be left out where the configuration has one.

With --json, one JSON object per line goes to standard output for each region of
each interval at Low or above; without it a paragraph for each region when its
verdict changes, and a table at the end. Warnings go to standard error.`,
		Example: `  giverny diagnose --topology torus:24x24x24 --interval 60s --links links.csv --jobs jobs.jsonl --traffic traffic.csv --failures failures.tsv --json
  giverny diagnose --config giverny.yaml --fabric gemini --from 2026-01-05T00:00:00Z --to 2026-01-05T06:00:00Z`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.files.Links == "" {
				cfg, _, err := g.load(cmd)
				if err != nil {
					return err
				}
				return diagnoseStored(cmd, cfg, f)
			}
			return diagnoseFiles(cmd, f)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *diagnoseFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.topology, "topology", "", "specification such as torus:24x24x24, or a topology file")
	flags.DurationVar(&f.interval, "interval", time.Minute, "length of an interval of the files")
	flags.StringVar(&f.files.Links, "links", "", "links CSV with a column time, also compressed (gzip, Zstandard)")
	flags.StringVar(&f.files.Jobs, "jobs", "", "jobs, one JSON object per line, CSV, or what sacct --parsable2, squeue --json or kubectl get pods -A -o json printed")
	flags.StringVar(&f.timeZone, "time-zone", "Local", "time zone of times without one in --jobs and --failures (as printed by sacct), such as Europe/Berlin")
	flags.StringVar(&f.files.Traffic, "traffic", "", "CSV of the traffic of jobs")
	flags.StringVar(&f.files.Failures, "failures", "", "failures, one per line with fields separated by tabs, commas or semicolons, or a log that reports them")
	flags.StringVar(&f.files.NodeMap, "node-map", "", "file of lines \"node<TAB>device\", for node names in jobs and failures that differ from the topology")
	flags.StringVar(&f.method, "method", string(segment.DefaultConfig().Method), "how regions are found: statistical, or paper: Monet's algorithm as published")
	flags.BoolVar(&f.skipUnknown, "skip-unknown", false, "ignore nodes, devices and ports that are not in the topology")
	flags.StringVar(&f.fabric, "fabric", "", "from the store: the fabric; may be left out if there is only one")
	flags.StringVar(&f.region, "region", "", "from the store: the region with this id")
	flags.StringVar(&f.at, "at", "", "from the store: the interval that holds this instant, RFC 3339 or a day")
	flags.StringVar(&f.from, "from", "", "from the store: intervals that start at this instant or later, RFC 3339 or a day")
	flags.StringVar(&f.to, "to", "", "from the store: intervals that start before this instant, RFC 3339 or a day; default: up to the newest")
	flags.BoolVar(&f.json, "json", false, "one JSON object per line for each region of each interval")
}

// check determines which of the two forms is meant.
func (f *diagnoseFlags) check() error {
	stored := f.fabric != "" || f.region != "" || f.at != "" || f.from != "" || f.to != ""
	switch {
	case f.files.Links != "" && stored:
		return errors.New("--links reads files; --fabric, --region, --at, --from and --to read the store: use one or the other")
	case f.files.Links != "":
		return nil
	case f.topology != "" || f.files.Jobs != "" || f.files.Traffic != "" || f.files.Failures != "":
		return errors.New("no links: give --links, a links CSV with a column time")
	case !stored:
		return errors.New("nothing to diagnose: give --topology and --links to read files, or --config and --region, --at, or --from to read the store")
	case f.from == "" && f.to != "":
		return errors.New("--to needs --from")
	case f.region == "" && f.at == "" && f.from == "":
		return errors.New("no time given: use --region, --at, or --from")
	case f.at != "" && f.from != "":
		return errors.New("--at selects one interval, --from and --to a time span: use one or the other")
	}
	return nil
}

// diagnoseFiles prints the diagnoses of recorded intervals as they are found.
func diagnoseFiles(cmd *cobra.Command, f diagnoseFlags) error {
	defer endAtOnce(cmd)()
	graph, err := givenTopology(cmd, f.topology)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(f.timeZone)
	if err != nil {
		return fmt.Errorf("--time-zone %q: want a name of the time zone database such as Europe/Berlin, UTC or Local", f.timeZone)
	}
	cfg := offline.Config{Interval: f.interval, Analysis: analysis.DefaultConfig(), SkipUnknown: f.skipUnknown, Zone: zone}
	cfg.Analysis.Segment.Method, cfg.Analysis.Window.Interval = segment.Method(f.method), f.interval
	if err := cfg.Analysis.Validate(); err != nil {
		return ofFlags(cmd, err)
	}
	report := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), "giverny diagnose:", line) }
	files, opened, err := sitefiles.Open(f.files, zone, report)
	if err != nil {
		return err
	}
	defer opened.Close()
	out := listing.New(cmd.OutOrStdout(), f.json, f.interval)
	intervals, unknown, hot := 0, 0, hotlinks.NewHistory()
	err = offline.Run(graph, cfg, files, report, func(r *schema.IntervalResult) error {
		intervals++
		if r.Network.Unknown != nil {
			unknown++
		}
		if !f.json {
			hot.Add(hotlinks.Outside(graph, r.Snapshot, r.Regions))
		}
		names := map[uint64]string{}
		for i := range r.Regions {
			names[r.Regions[i].ID] = r.Regions[i].Name
		}
		out.Mitigated(r.Events)
		return out.Write(r.Diagnoses, names)
	})
	if err != nil { // the table would be incomplete
		return err
	}
	reportUnknown(cmd, unknown, intervals)
	return out.Close(hot.Print)
}

// diagnoseStored prints stored diagnoses.
func diagnoseStored(cmd *cobra.Command, cfg config.Config, f diagnoseFlags) error {
	fabric, err := app.FabricNamed(cfg.Fabrics, f.fabric)
	if err != nil {
		return err
	}
	span, region, err := f.span(int64(fabric.Interval()))
	if err != nil {
		return err
	}
	log := newLog(cmd, cfg.Log)
	stored, err := app.New(cfg, version, log).Diagnoses(cmd.Context(), fabric.Name, span, region)
	if err != nil {
		return err
	}
	reportUnknown(cmd, stored.Intervals-stored.Known, stored.Intervals)
	out := listing.New(cmd.OutOrStdout(), f.json, fabric.Interval())
	for found := stored.Found; len(found) > 0; {
		next := slices.IndexFunc(found, func(d schema.Diagnosis) bool { return d.Time != found[0].Time })
		if next < 0 {
			next = len(found)
		}
		if err := out.Write(found[:next], nil); err != nil {
			return err
		}
		found = found[next:]
	}
	return out.Close(func(w io.Writer) { printStored(w, stored.Hot) })
}

// reportUnknown says that no region does not mean no congestion where data are missing.
func reportUnknown(cmd *cobra.Command, unknown, intervals int) {
	if unknown > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "giverny diagnose: in %d of %s the state of the network is unknown: data are missing, so regions may have been missed\n",
			unknown, plural.Count(intervals, "interval", "intervals"))
	}
}

// span returns the requested time span and region, 0 for all.
func (f *diagnoseFlags) span(intervalNanos int64) (span read.Span, region uint64, err error) {
	span = read.Span{To: read.Newest}
	if region, err = regionOf(f.region); err != nil {
		return span, 0, err
	}
	for _, in := range []struct {
		flag, text string
		into       *schema.Instant
	}{{"--from", f.from, &span.From}, {"--to", f.to, &span.To}, {"--at", f.at, &span.From}} {
		if in.text == "" {
			continue
		}
		if *in.into, err = instantOf(in.flag, in.text); err != nil {
			return span, 0, err
		}
	}
	if f.at != "" {
		span = read.SpanOf(schema.IntervalAt(int64(span.From), intervalNanos))
	}
	if span.To <= span.From {
		return span, 0, errors.New("--to must be after --from")
	}
	return span, region, nil
}

// printStored lists the links that stalled most in a span of the store without regions.
func printStored(w io.Writer, links []app.StoredLink) {
	for i, l := range links {
		if i == 0 {
			fmt.Fprintln(w, "The links that stalled most, in no region:")
		}
		fmt.Fprintf(w, "  %s: %s of %.1f%% on average, at most %.1f%%\n", schema.OneLine(l.Name), l.Metric, l.Mean, l.Max)
	}
}
