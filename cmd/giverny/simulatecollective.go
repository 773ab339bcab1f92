package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/collective/simulated"
	"github.com/giverny/giverny/simulate/incident"
)

func newSimulateCollective() *cobra.Command {
	var out, class, algorithm, mode string
	var chunk int64
	var seed uint64
	var ranks, spines int
	cmd := &cobra.Command{
		Use:   "collective --class CLASS --out DIR",
		Short: "Simulate a collective with an injected culprit",
		Long: `Simulate a collective of 4 to 256 ranks on a leaf-spine fabric with four hosts to
a leaf, two of them with a rank, packet by packet with PFC, and something that goes
wrong. The folder gets

  run.jsonl   what hosts and switches would have recorded: steps, other flows, the
              telemetry that detection asked for, PFC frames, the fabric
  truth.json  what was injected, and what the same simulation saves without it

Classes: ` + join(incident.Classes()) + `.
Algorithms: ` + join(incident.Algorithms()) + `.
Detection: step-aware (Vedrfolnir's), threshold (Hawkeye's), periodic or off.`,
		Example: "  giverny simulate collective --class incast --algorithm ring --seed 7 --out incast\n  giverny collective diagnose --format simulated incast",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out is missing: name the folder to write to")
			}
			in, err := incident.New(incident.Spec{Class: collective.Class(class), Algorithm: collective.Algorithm(algorithm), ChunkBytes: chunk, Seed: seed, Ranks: ranks, Spines: spines})
			if err != nil {
				return err
			}
			cfg := detect.DefaultConfig()
			cfg.Mode = detect.Mode(mode)
			if err := cfg.Validate(); err != nil {
				return err
			}
			result, err := in.Simulate(cfg)
			if err != nil {
				return err
			}
			truth, err := in.Truth(result)
			if err != nil {
				return err
			}
			return writeIncident(out, &result.Run, &truth)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "out", "o", "", "folder to write to")
	flags.IntVar(&ranks, "ranks", 8, "ranks: 4 to 256; of halving_doubling a power of two, for a deadlock 8 or more")
	flags.IntVar(&spines, "spines", 4, "spines of the fabric: 4 to 16")
	flags.StringVar(&class, "class", string(incident.Healthy), "what goes wrong")
	flags.StringVar(&algorithm, "algorithm", string(collective.Ring), "how the collective moves its data")
	flags.StringVar(&mode, "detection", string(detect.StepAware), "when hosts ask switches for telemetry")
	flags.Int64Var(&chunk, "chunk", 2<<20, "bytes of a step of a ring or all-to-all; an eighth of the data of the others")
	flags.Uint64Var(&seed, "seed", 1, "seed of all random choices")
	return cmd
}

func join[T ~string](names []T) string {
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	return strings.Join(all, ", ")
}

func writeIncident(dir string, run *collective.Run, truth *incident.Truth) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, simulated.FileName))
	if err != nil {
		return err
	}
	if err := errors.Join(simulated.Write(file, run), file.Close()); err != nil {
		return err
	}
	text, err := json.MarshalIndent(truth, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, simulated.TruthName), append(text, '\n'), 0o644)
}
