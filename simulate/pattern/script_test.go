package pattern

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into testdata/runs as what should")

// TestRuns reads testdata/runs/*.txt: lines KEY: VALUE (topology, model, param,
// fault, pattern, yaml, without), for want of a pattern a table of calls, and
// after a line ---- what comes out. The comment at its head says what a script
// shows.
func TestRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/runs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, want, _ := strings.Cut(string(data), "----\n")
			got := runScript(script)
			if *rewrite {
				if err := os.WriteFile(file, []byte(script+"----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// runScript is what a script prints: a report and its calls, or an explanation,
// or an error.
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
