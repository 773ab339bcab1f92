package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/report"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

func newReport(g *globals) *cobra.Command {
	var from, to, fabric, out string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report a fabric's congestion over days or months",
		Long: `Describe a fabric's congestion over days or months from the stored results: the
characterisation of Monet (NSDI 2020), next to the paper's numbers for Blue Waters.
--out is the file to write: .html is one self-contained page with plots and the SQL
of each; .json is the same for programs; - is JSON on standard output.

--from and --to are RFC 3339, or days (2026-01-31, midnight UTC). --fabric may be left
out where the configuration has one.`,
		Example: `  giverny report --config giverny.yaml --from 2026-01-01 --to 2026-06-01 --out report.html`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := parseSpan(from, to)
			if err != nil {
				return err
			}
			write, err := reportForm(out)
			if err != nil {
				return err
			}
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			entry, err := app.FabricNamed(cfg.Fabrics, fabric)
			if err != nil {
				return err
			}
			made, err := app.New(cfg, version, log).Report(cmd.Context(), entry.Name, span, entry.Interval())
			if err != nil {
				return err
			}
			if out == "-" {
				return write(made, cmd.OutOrStdout())
			}
			if err := atomicfile.WriteOutputBy(out, func(w io.Writer) error { return write(made, w) }); err != nil {
				return fmt.Errorf("write the report: %w", err)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "giverny report: written to", out)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "intervals that start at this instant or later")
	flags.StringVar(&to, "to", "", "intervals that start before this instant")
	fabricFlag(flags, &fabric)
	flags.StringVarP(&out, "out", "o", "", "file to write, .html or .json; - for JSON on standard output")
	return cmd
}

// parseSpan parses the flags --from and --to.
func parseSpan(from, to string) (span read.Span, err error) {
	if span.From, err = instantOf("--from", from); err == nil {
		span.To, err = instantOf("--to", to)
	}
	if err == nil && span.To <= span.From {
		err = errors.New("--to must be after --from")
	}
	return span, err
}

// instantOf parses the value of a flag: an instant, or a day, which means its midnight in UTC.
func instantOf(flag, text string) (at schema.Instant, err error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing: give an instant (RFC 3339) or a day (2026-01-31)", flag)
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		text += "T00:00:00Z"
	}
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("%s (an instant, or a day such as 2026-01-31): %w", flag, err)
	}
	return at, nil
}

// reportForm returns the writer for a file name.
func reportForm(out string) (func(*report.Report, io.Writer) error, error) {
	switch ext := strings.ToLower(filepath.Ext(out)); {
	case out == "":
		return nil, errors.New("--out is missing: name a file that ends in .html or .json, or - for JSON on standard output")
	case out == "-", ext == ".json":
		return (*report.Report).WriteJSON, nil
	case ext == ".html", ext == ".htm":
		return (*report.Report).WriteHTML, nil
	}
	return nil, fmt.Errorf("--out %q: want a name that ends in .html or .json", out)
}
