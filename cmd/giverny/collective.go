package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/draw"
	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/internal/atomicfile"
)

func newCollective(g *globals) *cobra.Command {
	cmd := newFolder("collective", "Find out why collective operations are slow")
	cmd.AddCommand(newCollectiveDiagnose(), newCollectivePublish(g))
	return cmd
}

type collectiveFlags struct {
	format, lineRate, svg, trace string
	json                         bool
}

func newCollectiveDiagnose() *cobra.Command {
	var f collectiveFlags
	cmd := &cobra.Command{
		Use:   "diagnose --format FORMAT DIR|FILE...",
		Short: "Find the critical path of a collective and what made it longer, offline",
		Long: `Find the critical path of a collective and what made it longer, offline.

The input is the records of one job, as a folder or as files. The critical path
is exact to the nanosecond: its segments (transfer, compute, wait) join end to end
and sum to the makespan. The cost of a culprit is how much shorter the makespan is
when the run is replayed without the time that the culprit took. Classes:
background_flow, self_collision, host_nic_contention, pfc_root, incast, deadlock,
slow_link, slow_host, straggler, hang.

Formats of records:
` + collectiveFormatHelp() + `
If the input cannot be read, the exit status is 1 and an error line names the
file, the line and what to do.`,
		Example: "  giverny collective diagnose runs/ring40 --json\n  giverny collective diagnose runs/ring40 --svg ring.svg --trace ring.json",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runCollectiveDiagnose(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "format of the records: "+records.Names()+"; empty: detected")
	flags.StringVar(&f.lineRate, "line-rate", "", "nominal rate of a link, such as 25Gbps (default: the most frequent rate at its level of the fabric)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of text")
	flags.StringVar(&f.svg, "svg", "", "also write a drawing of ranks by time, with the critical path, to this SVG file")
	flags.StringVar(&f.trace, "trace", "", "also write Chrome trace events, for Perfetto, to this JSON file")
	return cmd
}

func runCollectiveDiagnose(cmd *cobra.Command, f collectiveFlags, paths []string) error {
	format, err := collectiveFormat(f.format, paths)
	if err != nil {
		return err
	}
	opt := collective.Options{}
	if opt.LineRateBitsPerSecond, err = parseLineRate(f.lineRate); err != nil {
		return err
	}
	run, d, err := diagnoseRecords(cmd.Context(), &format, paths, opt)
	if err != nil {
		return err
	}
	if len(run.Steps) == 0 && f.svg+f.trace != "" {
		return fmt.Errorf("--svg, --trace: records of format %s have no steps to draw; omit these flags", format.Name)
	}
	for _, picture := range []struct {
		path string
		draw func(io.Writer, collective.Run, collective.Diagnosis) error
	}{{f.svg, draw.SVG}, {f.trace, draw.Trace}} {
		if picture.path == "" {
			continue
		}
		if err := atomicfile.WriteOutputBy(picture.path, func(w io.Writer) error { return picture.draw(w, run, d) }); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
	}
	return printCollective(cmd.OutOrStdout(), d)
}

// collectiveFormat returns the format named by --format, or without it that of the files.
func collectiveFormat(name string, paths []string) (records.Format, error) {
	if name == "" {
		return records.Detect(paths)
	}
	format, err := records.Named(name)
	if err != nil {
		err = fmt.Errorf("--format %w", err)
	}
	return format, err
}

// diagnoseRecords diagnoses the given files, and those in folders. It returns early
// when ctx ends; reading or computing then ends with the process.
func diagnoseRecords(ctx context.Context, format *records.Format, paths []string, opt collective.Options) (collective.Run, collective.Diagnosis, error) {
	files, err := format.Expand(paths)
	if err != nil {
		return collective.Run{}, collective.Diagnosis{}, err
	}
	type outcome struct {
		run collective.Run
		d   collective.Diagnosis
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		run, d, err := format.Diagnose(files, opt)
		done <- outcome{run, d, err}
	}()
	select {
	case o := <-done:
		return o.run, o.d, o.err
	case <-ctx.Done():
		return collective.Run{}, collective.Diagnosis{}, fmt.Errorf("diagnose collectives: %w", ctx.Err())
	}
}

// collectiveFormatHelp has a line for each format.
func collectiveFormatHelp() string {
	var b strings.Builder
	for _, f := range records.Formats() {
		fmt.Fprintf(&b, "  %s: %s\n", f.Name, f.Help)
	}
	return b.String()
}

// parseLineRate parses 25Gbps, 400Mbps or a plain number of bits per second.
func parseLineRate(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, factor := text, 1.0
	for suffix, f := range map[string]float64{"Gbps": 1e9, "Mbps": 1e6, "Gb/s": 1e9, "Mb/s": 1e6} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			number, factor = n, f
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if bits := v * factor; err != nil || math.IsNaN(bits) || bits < 1e3 || bits > 1e14 {
		return 0, fmt.Errorf("--line-rate %q: want a rate such as 25Gbps", text)
	}
	return int64(math.Round(v * factor)), nil
}

// printedSegments is the length of the printed start of the critical path.
const printedSegments = 64

// printCollective prints the diagnosis and the critical path as a table.
func printCollective(out io.Writer, d collective.Diagnosis) error {
	var b strings.Builder
	b.WriteString(wholeLines(&d))
	if len(d.CriticalPath) > 0 {
		b.WriteString("\ncritical path\n  begin ms     end ms    took ms  kind      rank  node  step\n")
	}
	for i, s := range d.CriticalPath {
		if i == printedSegments {
			fmt.Fprintf(&b, "... %d more segments: --json has all\n", len(d.CriticalPath)-i)
			break
		}
		fmt.Fprintf(&b, "%10.3f %10.3f %10.3f  %-8s %5d  %4s  %4d\n", inMillis(s.BeginNanos), inMillis(s.EndNanos), inMillis(s.EndNanos-s.BeginNanos), s.Kind, s.Rank, s.Node, s.Step)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func inMillis(nanos int64) float64 { return float64(nanos) / 1e6 }

// wholeLines is the text of a diagnosis, ending in a newline.
func wholeLines(d *collective.Diagnosis) string { return strings.TrimSuffix(d.Text, "\n") + "\n" }
