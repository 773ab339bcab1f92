package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/textmark"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/pattern"
)

// patternFlags select the program, the fabric and the machine.
type patternFlags struct {
	topology, model string
	params          []string
	faults          []string
	calls, file     string
	builtin         string
	puts            string
	exchange        pattern.Exchange
	barrier         string
	json            bool
}

func (f *patternFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.topology, "topology", "fattree:leaves=4,hosts=4,spines=4", "specification, or a topology file")
	flags.StringVar(&f.model, "model", "nsim-ace", "machine: "+strings.Join(modelNames(), ", "))
	flags.StringArrayVar(&f.params, "param", nil, "NAME=VALUE, a parameter of the machine; several may be given")
	flags.StringArrayVar(&f.faults, "fault", nil, "TIME,WHAT,STATE such as 100us,spine1,down or 1ms,leaf0 5,0.1 (a tenth of the speed is left); several may be given")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.calls, "calls", "", "calls CSV: process,node,op,peer,bytes,tag")
	flags.StringVar(&f.file, "file", "", "pattern file, YAML")
	flags.StringVar(&f.puts, "puts", "", "list of puts, CSV: from,to,bytes; each process packs, all meet at a barrier, each puts")
	flags.IntVar(&f.exchange.PerNode, "per-node", 1, "with --puts: processes on a node")
	flags.Float64Var(&f.exchange.PackNanosPerByte, "pack-ns-per-byte", 0, "with --puts: time to pack what is sent")
	flags.StringVar(&f.barrier, "barrier", "after", "with --puts: before or after the packing, or none")
	flags.StringVar(&f.builtin, "pattern", "", "built-in pattern such as ring:processes=16,bytes=2MiB")
}

func modelNames() (names []string) {
	for _, m := range pattern.Models() {
		names = append(names, m.Name)
	}
	return names
}

func newSimulatePattern() *cobra.Command {
	var f patternFlags
	var long strings.Builder
	long.WriteString(`Predict the times of an RDMA communication pattern (NSIM-ACE) by packet-level
simulation.

--calls names a CSV with the header process,node,op,peer,bytes,tag and each
process's calls in program order: put, get, poll, complete, compute (bytes are
nanoseconds) and barrier. A put does not block; the process waits at
complete or poll. peer is a process; one without calls of its own sits on the
node of the same number.

With --json each call is an object on a line, in the order of the file:
{"process":0,"op":"put","peer":5,"bytes":1048576,"start_ns":0,"arrive_ns":377400.6857,"complete_ns":377831.0857}.
Without, a summary tells where the time goes: alone, waiting for the DMA engine,
contention, and which puts collided.

Patterns:
`)
	for _, line := range pattern.Builtins() {
		long.WriteString("    " + line + "\n")
	}
	long.WriteString("\nMachines:\n")
	for _, m := range pattern.Models() {
		fmt.Fprintf(&long, "    %-10s %s\n", m.Name, m.About)
	}
	long.WriteString("\nParameters of machines:\n")
	for _, p := range packet.Parameters() {
		fmt.Fprintf(&long, "    %-22s %s\n", p.Name, p.Help)
	}
	cmd := &cobra.Command{
		Use:     "pattern",
		Short:   "Predict the times of an RDMA communication pattern",
		Long:    strings.TrimRight(long.String(), "\n"),
		Example: "  giverny simulate pattern --calls calls.csv --json\n  giverny simulate pattern --pattern all-to-all:bytes=64KiB --model hdr200",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer endAtOnce(cmd)()
			experiment, err := f.load(cmd)
			if err != nil {
				return err
			}
			report, err := experiment.Run()
			if err != nil {
				return err
			}
			if f.json {
				return report.WriteJSON(cmd.OutOrStdout())
			}
			return report.WriteText(cmd.OutOrStdout())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func newSimulateExplain() *cobra.Command {
	var f patternFlags
	var w pattern.Without
	cmd := &cobra.Command{
		Use:     "explain",
		Short:   "Show what changes in a pattern without its intra-node puts, or without some processes",
		Example: "  giverny simulate explain --pattern halo:dims=4x8,per-node=2 --without-intra-node",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer endAtOnce(cmd)()
			experiment, err := f.load(cmd)
			if err != nil {
				return err
			}
			explanation, err := experiment.Explain(w)
			if err != nil {
				return err
			}
			if f.json {
				return explanation.WriteJSON(cmd.OutOrStdout())
			}
			return explanation.WriteText(cmd.OutOrStdout())
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&w.IntraNode, "without-intra-node", false, "take out puts between processes of one node")
	cmd.Flags().IntSliceVar(&w.Processes, "without-processes", nil, "take out what these processes post: a job")
	return cmd
}

// load builds the fabric, the machine, the program and the faults.
func (f *patternFlags) load(cmd *cobra.Command) (x pattern.Experiment, err error) {
	if x.Model, err = pattern.FindModel(f.model); err != nil {
		return x, fmt.Errorf("--model: %w", err)
	}
	for _, p := range f.params {
		if err := x.Model.Set(p); err != nil {
			return x, fmt.Errorf("--param: %w", err)
		}
	}
	if err := x.Model.Validate(); err != nil {
		return x, fmt.Errorf("--param: %w", err)
	}
	if x.Graph, err = givenTopology(cmd, f.topology); err != nil {
		return x, err
	}
	for _, text := range f.faults {
		faults, err := packet.ParseFault(x.Graph, text)
		if err != nil {
			return x, fmt.Errorf("--fault: %w", err)
		}
		x.Faults = append(x.Faults, faults...)
	}
	x.Program, err = f.program(len(x.Graph.Hosts()))
	return x, err
}

func (f *patternFlags) program(nodes int) (*pattern.Program, error) {
	if err := exactlyOne("pattern", option{"--calls", f.calls}, option{"--file", f.file}, option{"--puts", f.puts}, option{"--pattern", f.builtin}); err != nil {
		return nil, err
	}
	switch {
	case f.builtin != "":
		return pattern.Builtin(f.builtin, nodes)
	case f.calls != "":
		return fromFile(f.calls, func(r io.Reader) (*pattern.Program, error) { return pattern.ReadCalls(r, f.calls) })
	case f.puts != "":
		return f.putList()
	}
	return fromFile(f.file, func(r io.Reader) (*pattern.Program, error) { return pattern.ReadYAML(r, f.file, nodes) })
}

func (f *patternFlags) putList() (*pattern.Program, error) {
	switch f.barrier {
	case "before":
		f.exchange.BarrierFirst = true
	case "none":
		f.exchange.NoBarrier = true
	case "after":
	default:
		return nil, fmt.Errorf("--barrier %q: want before, after or none", f.barrier)
	}
	pieces, err := fromFile(f.puts, func(r io.Reader) ([]pattern.Piece, error) { return pattern.ReadPieces(r, f.puts) })
	if err != nil {
		return nil, err
	}
	return f.exchange.Program(f.puts, pieces)
}

func fromFile[T any](path string, read func(io.Reader) (T, error)) (v T, err error) {
	file, err := plainfile.OpenInput(path)
	if err != nil {
		return v, err
	}
	defer file.Close()
	return read(textmark.Skip(file))
}
