package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/report"
	"github.com/giverny/giverny/search/run"
	"github.com/giverny/giverny/store/read"
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
a search that giverny search launch has launched in --fabric; the store has its
anomalies and totals, not its measurements.`,
		Example: `  giverny search report nic.log --out report.html
  giverny search report 6d3c1f0a9be24c52 --fabric ib0 --config giverny.yaml --out report.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer endAtOnce(cmd)()
			var s report.Search
			var err error
			if f.fabric != "" {
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
	flags.StringVar(&f.out, "out", "report.html", "the file to write; - for standard output")
	flags.StringVar(&f.fabric, "fabric", "", "with an ID: the fabric of the search")
	flags.StringVar(&f.agent, "agent", "", "with an ID: the agent whose findings to use, if several searched")
	return cmd
}

// logged reads a search from its log.
func logged(path string) (s report.Search, err error) {
	l, err := run.ReadLog(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("%w; for a launched search, give --fabric too", err)
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
func (f *reportFlags) stored(cmd *cobra.Command, g *globals, id string) (s report.Search, err error) {
	cfg, log, err := g.load(cmd)
	if err != nil {
		return s, err
	}
	var found read.Search
	var anomalies []read.Finding
	err = app.New(cfg, version, log).Reading(cmd.Context(), f.fabric, func(ctx context.Context, m *read.Model, fabric string) (err error) {
		found, anomalies, err = searchWithFindings(ctx, m, fabric, id)
		return err
	})
	if err != nil {
		return s, err
	}
	agent, err := f.agentOf(&found)
	if err != nil {
		return s, err
	}
	s = report.Search{Title: agent.Subsystem.String() + " on " + agent.Agent, Algorithm: search.Algorithm(found.Algorithm), Seed: found.Seed,
		Began: time.Unix(0, int64(found.Requested)), Sums: report.Sums{Experiments: agent.Experiments, Failed: agent.Failed, Hours: agent.Seconds / 3600}}
	for _, a := range anomalies {
		if a.Agent != agent.Agent {
			continue
		}
		line, err := json.Marshal(struct {
			Type       string          `json:"type"`
			Experiment int             `json:"experiment"`
			Symptom    string          `json:"symptom"`
			Workload   json.RawMessage `json:"workload"`
			MFS        json.RawMessage `json:"mfs"`
		}{"anomaly", a.Experiment, a.Symptom, a.Workload, a.MFS})
		if err != nil {
			return s, err
		}
		s.Findings = append(s.Findings, line)
	}
	return s, nil
}

// agentOf returns the agent named by the flag, or the only one.
func (f *reportFlags) agentOf(s *read.Search) (read.SearchAgent, error) {
	var names []string
	for _, a := range s.Agents {
		if a.Agent == f.agent || f.agent == "" && len(s.Agents) == 1 {
			return a, nil
		}
		names = append(names, a.Agent)
	}
	if len(names) == 0 {
		return read.SearchAgent{}, fmt.Errorf("search %s: no agent has answered yet", s.ID)
	}
	return read.SearchAgent{}, fmt.Errorf("search %s: give --agent, one of %s", s.ID, strings.Join(names, ", "))
}
