package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/listing"
	"github.com/giverny/giverny/search/run"
)

type explainFlags struct {
	engineFlags
	workload, known, logged string
	json                    bool
}

func newSearchExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Say which known anomalies a workload triggers, and which change avoids each",
		Long: `Say which known anomalies a workload triggers, and which single changes avoid each:
for every dimension that matters the nearest value that avoids it, and which other known
anomalies the changed workload would trigger. The anomalies are those of --known, or of
the search with the log --log. The log also has the description of the engine; without
it the engine is started to describe itself.

Values of ordered dimensions need not be listed by the engine (sizes may have units:
4KB and 4KiB are 4096): they are compared with the bounds of the anomalies, and the
output says between which tested values they lie, or that they lie beyond all.

With --json there is one line {"type":"match","mfs":{…},"changes":[{"dimension":"qps",
"to":[160],"meets":[]}]} for each anomaly, and a summary, whose untested lists such values:
{"dimension":"qps","value":50,"above":32,"below":64}.`,
		Example: `  giverny search explain --workload app.json --log nic.log
  giverny search explain --workload app.json --known found.jsonl --engine simulated --subsystem F`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return explain(cmd, &f) },
	}
	f.engineFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.workload, "workload", "", "JSON: a workload with every dimension of the engine")
	flags.StringVar(&f.known, "known", "", "known anomalies with their minimal feature sets (MFS), as JSON lines or a report of a search")
	flags.StringVar(&f.logged, "log", "", "the log of a search whose findings are known")
	flags.BoolVar(&f.json, "json", false, "one JSON object per line for each anomaly, and a summary")
	return cmd
}

func explain(cmd *cobra.Command, f *explainFlags) (err error) {
	defer endAtOnce(cmd)()
	if f.workload == "" || f.known == "" && f.logged == "" {
		return errors.New("nothing to explain: give --workload, and --known or --log")
	}
	w, untested, known, err := f.load(cmd)
	if err != nil {
		return err
	}
	return listing.New(cmd.OutOrStdout(), f.json).Matches(w.Matches(known), untested, len(known))
}

// load returns the workload, its values that the engine does not list, and the known MFS, in the space extended by
// these values.
func (f *explainFlags) load(cmd *cobra.Command) (w search.Workload, untested []search.Untested, known []*search.MFS, err error) {
	var d search.Description
	var logged run.Log
	if f.logged != "" {
		if logged, err = run.ReadLog(f.logged); err != nil {
			return w, nil, nil, err
		}
		d = logged.Header.Settings.Description
	} else if d, err = f.describe(cmd); err != nil {
		return w, nil, nil, err
	}
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		return w, nil, nil, err
	}
	text, err := plainfile.ReadOnce(f.workload)
	if err != nil {
		return w, nil, nil, err
	}
	if space, w, untested, err = space.ParseApplication(text); err != nil {
		return w, nil, nil, fmt.Errorf("%s: %w", f.workload, err)
	}
	known, err = f.knownIn(space, &logged)
	return w, untested, known, err
}

// knownIn returns the MFS in the log and the file, within a space.
func (f *explainFlags) knownIn(space *search.Space, logged *run.Log) ([]*search.MFS, error) {
	var lines []byte
	for _, line := range logged.Findings {
		lines = append(lines, line...)
	}
	known, err := space.ParseKnown(lines)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.logged, err)
	}
	if f.known == "" {
		return known, nil
	}
	text, err := plainfile.ReadOnce(f.known)
	if err != nil {
		return nil, err
	}
	more, err := space.ParseKnown(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.known, err)
	}
	return append(known, more...), nil
}

// describe queries the engine's description, and stops the engine.
func (f *explainFlags) describe(cmd *cobra.Command) (_ search.Description, err error) {
	f.pairs = 1
	engines, err := f.open(newLog(cmd, config.Default().Log))
	if err != nil {
		return search.Description{}, err
	}
	defer func() { err = errors.Join(err, engines[0].Close()) }()
	return run.Describe(cmd.Context(), engines)
}
