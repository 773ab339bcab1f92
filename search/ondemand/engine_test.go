package ondemand_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/ondemand"
	"github.com/giverny/giverny/search/simulated"
)

// engineVariable makes the test binary a program that speaks the engine protocol.
const engineVariable = "ONDEMAND_TEST_ENGINE"

// engineProgram is an engine of the kind exec: this binary.
func engineProgram(name string, args ...string) ondemand.EngineConfig {
	return ondemand.EngineConfig{Name: name, Kind: "exec", Command: append([]string{"/usr/bin/env", engineVariable + "=F", os.Args[0]}, args...)}
}

// serveEngine answers for subsystem F where the variable says so, and ends the process.
func serveEngine() {
	name := os.Getenv(engineVariable)
	if name == "" {
		return
	}
	if err := answerAll(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func answerAll(name string) error {
	model, err := simulated.New(name, 1, simulated.Flakiness{})
	if err != nil {
		return err
	}
	space, err := search.NewSpace(model.Describe().Dimensions)
	if err != nil {
		return err
	}
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var request struct {
			Type     string          `json:"type"`
			ID       int             `json:"id"`
			Workload json.RawMessage `json:"workload"`
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return err
		}
		switch request.Type {
		case "describe":
			err = out.Encode(model.Describe())
		case "measure":
			var workload search.Workload
			if workload, err = space.ParseWorkload(request.Workload); err != nil {
				return err
			}
			err = out.Encode(struct {
				ID int `json:"id"`
				search.Measurement
			}{request.ID, model.Measure(workload)})
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}
