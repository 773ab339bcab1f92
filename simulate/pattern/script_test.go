package pattern

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/script"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// TestRuns reads testdata/runs/*.txt: lines KEY: VALUE (topology, model, param, fault,
// pattern, yaml, without) or, without a pattern, a table of calls, and after a line
// ---- the expected output. The comment at the top says what a script shows.
func TestRuns(t *testing.T) {
	script.Run(t, "testdata/runs/*.txt", func(_ *testing.T, text string) string {
		commands, _, _ := strings.Cut(text, "----\n")
		return commands + "----\n" + runScript(commands)
	})
}

// runScript returns a script's output: a report and its calls, or an explanation, or an
// error.
func runScript(script string) string {
	var out strings.Builder
	if err := scripted(script, &out); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

func scripted(script string, out *strings.Builder) error {
	var x Experiment
	var table strings.Builder
	var without Without
	var errs []error
	var err error
	check := func(err error) { errs = append(errs, err) }
	for _, line := range strings.Split(script, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "topology":
			x.Graph, err = topology.Parse("fabric", value)
			check(err)
		case "model":
			x.Model, err = FindModel(value)
			check(err)
		case "param":
			check(x.Model.Set(value))
		case "fault":
			faults, err := packet.ParseFault(x.Graph, value)
			check(err)
			x.Faults = append(x.Faults, faults...)
		case "pattern":
			x.Program, err = Builtin(value, len(x.Graph.Hosts()))
			check(err)
		case "yaml":
			data, err := os.ReadFile(filepath.Join("testdata", value))
			check(err)
			x.Program, err = ReadYAML(strings.NewReader(string(data)), value, len(x.Graph.Hosts()))
			check(err)
		case "without":
			without.IntraNode = value == "intra-node"
		default:
			table.WriteString(line + "\n")
		}
	}
	if x.Program == nil {
		x.Program, err = ReadCalls(strings.NewReader(table.String()), "calls")
		check(err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !without.nothing() {
		e, err := x.Explain(without)
		if err != nil {
			return err
		}
		return errors.Join(e.WriteText(out), e.WriteJSON(out))
	}
	rep, err := x.Run()
	if err != nil {
		return err
	}
	return errors.Join(rep.WriteText(out), rep.WriteJSON(out))
}
