package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/search/run"
)

type reportFlags struct {
	out, fabric, agent string
}

func newSearchReport(g *globals) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report LOG|ID",
		Short: "Write what a search has found as a page of HTML",
		Long: `Write what a search has found, so far or in the end, as one HTML page without
external files: the anomalies, each as a sentence and as JSON, and plots of what was found
and measured over the experiments. LOG is the log of giverny search run. ID is that of
a search that giverny search launch has launched; the store has its anomalies and
totals, not its measurements.`,
		Example: `  giverny search report nic.log --out report.html
  giverny search report B6ZT2LQ3W5SJ7C4RA6X2EYKN4D --config giverny.yaml --out report.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			var s report.Search
			var err error
			if _, missing := os.Stat(args[0]); f.fabric != "" || missing != nil && searchID.MatchString(args[0]) {
				s, err = f.stored(cmd, g, args[0])
			} else {
				s, err = logged(args[0])
			}
			if err != nil {
				return err
			}
			if f.out == "-" {
				return report.Write(cmd.OutOrStdout(), s)
			}
			return atomicfile.WriteOutputBy(f.out, func(w io.Writer) error { return report.Write(w, s) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "report.html", "the file to write; - for standard output")
	fabricFlag(flags, &f.fabric)
	flags.StringVar(&f.agent, "agent", "", "with an ID: the agent whose findings to use, if several searched")
	return cmd
}

// searchID matches the ID of a launched search.
var searchID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// logged reads a search from its log.
func logged(path string) (s report.Search, err error) {
	l, err := run.ReadLog(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("%w; want a log, or an ID that giverny search list prints", err)
	}
	if err != nil {
		return s, err
	}
	set := &l.Header.Settings
	s = report.Search{Title: set.Description.Name, Description: set.Description, Algorithm: set.Algorithm, Seed: set.Seed, Began: l.Header.Time, Findings: l.Findings}
	for i := range l.Measurements {
		s.Measurements = append(s.Measurements, l.Measurements[i].Measurement)
	}
	return s, nil
}

// stored reads a search from the store.
func (f *reportFlags) stored(cmd *cobra.Command, g *globals, id string) (report.Search, error) {
	cfg, log, err := g.load(cmd)
	if err != nil {
		return report.Search{}, err
	}
	return app.New(cfg, version, log).SearchReport(cmd.Context(), f.fabric, id, f.agent)
}
