package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

// testEngine is the name under which the test binary is a program that speaks the
// engine protocol, for subsystem F. Its argument is the time that each measurement takes.
const testEngine = "giverny-test-engine"

func serveTestEngine() {
	if err := answerRequests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerRequests() error {
	pause, err := time.ParseDuration(os.Args[1])
	if err != nil {
		return err
	}
	model, err := simulated.New("F", 1, simulated.Flakiness{})
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
		var answer any = model.Describe()
		switch request.Type {
		case "describe":
		case "measure":
			w, err := space.ParseWorkload(request.Workload)
			if err != nil {
				return err
			}
			time.Sleep(pause)
			answer = struct {
				ID int `json:"id"`
				search.Measurement
			}{request.ID, model.Measure(w)}
		default:
			return nil
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
