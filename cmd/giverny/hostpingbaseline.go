package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/internal/plainfile"
)

type hostBaselineFlags struct {
	proberFlags
	out  string
	runs int
	json bool
}

func newHostpingBaseline() *cobra.Command {
	var f hostBaselineFlags
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Measure what idle, healthy hosts of a model reach",
		Long: `Measure every pair of RNIC and endpoint of an idle, healthy host, and write the
latencies and bandwidths to a file. If the file exists, the measurements are merged
into it: run the command on several hosts of the model, so that a bad host has no
effect on the baseline.`,
		Example: `  giverny hostping baseline --host host.xml --prober perftest --out dgx.json
  giverny hostping baseline --host host.xml --prober exec --command 'my-prober --quiet' --out dgx.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return takeBaseline(cmd, &f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file of the baseline; an existing one is merged")
	flags.IntVar(&f.runs, "runs", 1, "number of times to measure all pairs")
	flags.BoolVar(&f.json, "json", false, "print a summary as JSON")
	return cmd
}

func takeBaseline(cmd *cobra.Command, f *hostBaselineFlags) error {
	switch {
	case f.out == "":
		return errors.New("--out is missing: name the file to write the baseline to")
	case f.runs < 1:
		return fmt.Errorf("--runs %d: want 1 or more", f.runs)
	}
	g, err := f.graph()
	if err != nil {
		return err
	}
	var merged *hostping.Baseline
	if have, err := readBaseline(f.out); err == nil {
		merged = &have
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	prober, err := f.open(&g, cmd)
	if err != nil {
		return err
	}
	defer prober.Close()
	var missing []hostping.Unmeasured
	for range f.runs {
		b, gaps, err := run.TakeBaseline(cmd.Context(), run.Options{Graph: g, Prober: prober, LargeBytes: f.largeBytes, ProbeTimeout: f.timeout, Timeout: f.runTimeout})
		if err != nil {
			return probing(err)
		}
		missing = gaps
		if merged != nil {
			if b, err = merged.Merge(&b); err != nil {
				return fmt.Errorf("%s: %w", f.out, err)
			}
		}
		merged = &b
	}
	return writeBaseline(cmd, f, merged, missing)
}

// writeBaseline writes the file and prints its contents.
func writeBaseline(cmd *cobra.Command, f *hostBaselineFlags, b *hostping.Baseline, missing []hostping.Unmeasured) error {
	if err := writeIndented(f.out, b); err != nil {
		return err
	}
	for _, m := range missing {
		fmt.Fprintf(cmd.ErrOrStderr(), "giverny hostping: %s to %s: not measured: %s\n", m.RNIC, m.Endpoint, m.Reason)
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Model      string `json:"model"`
			Runs       int    `json:"runs"`
			Pairs      int    `json:"pairs"`
			Unmeasured int    `json:"unmeasured"`
		}{b.Model, b.Runs, len(b.Pairs), len(missing)})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d pairs of %s, runs: %d\n", f.out, len(b.Pairs), b.Model, b.Runs)
	return err
}

// readBaseline reads a baseline's file.
func readBaseline(path string) (hostping.Baseline, error) {
	text, err := plainfile.ReadOnce(path)
	if err != nil {
		return hostping.Baseline{}, err
	}
	b, err := hostping.ParseBaseline(text)
	if err != nil {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}
