// Package enginetest implements the engine protocol, for tests that start their own binary as an engine.
package enginetest

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

// Serve answers requests, one per line, for a simulated subsystem until a stop request or the end of in. Each
// measurement takes the given time. Invalid requests are an error.
func Serve(subsystem string, measurement time.Duration, in io.Reader, out io.Writer) error {
	model, err := simulated.New(subsystem, 1, simulated.Flakiness{})
	if err != nil {
		return err
	}
	space, err := search.NewSpace(model.Describe().Dimensions)
	if err != nil {
		return err
	}
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
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
			time.Sleep(measurement)
			answer = struct {
				ID int `json:"id"`
				search.Measurement
			}{request.ID, model.Measure(w)}
		default:
			return nil
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
