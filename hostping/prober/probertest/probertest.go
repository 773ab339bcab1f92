// Package probertest implements the prober protocol over a simulated host, for tests
// that start their own binary as a prober.
package probertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// Machine returns the lstopo description of a simulated machine.
func Machine(name string) string {
	for _, m := range simulated.Machines() {
		if m.Name == name {
			return m.XML()
		}
	}
	panic("probertest: no machine " + name) // tests only name existing machines
}

// Main is the program. Its arguments are the file of a host's description and,
// optionally, a file with a fault: bottleneck, link and remaining share, separated by
// blanks. While that file is missing the host is healthy.
func Main(args []string, in io.Reader, out io.Writer) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	g, err := hostping.ReadGraph(args[0], text, hostping.Auto)
	if err != nil {
		return err
	}
	host := simulated.New(simulated.DefaultConfig(), g, 1)
	if fault, err := os.ReadFile(args[1]); err == nil {
		f := strings.Fields(string(fault))
		share, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return err
		}
		host.Inject(simulated.Fault{Bottleneck: hostping.Bottleneck(f[0]), Link: f[1], Share: share})
	}
	return Serve(host, "", in, out)
}

// Serve answers until a stop request. Probes of the endpoint hangs, unless it is empty,
// get no answer.
func Serve(host *simulated.Host, hangs string, in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	requests := bufio.NewScanner(in)
	for requests.Scan() {
		var r struct {
			Type string `json:"type"`
			hostping.Probe
		}
		if err := json.Unmarshal(requests.Bytes(), &r); err != nil {
			return err
		}
		var answer any
		switch r.Type {
		case "stop":
			return nil
		case "utilisation":
			answer = host.Utilisation()
		case "probe":
			if r.Endpoint == hangs {
				time.Sleep(time.Hour)
			}
			result := host.Probe(r.Probe)
			answer = struct {
				ID            int             `json:"id"`
				Status        hostping.Status `json:"status"`
				LatencyMicros []float64       `json:"latency_us"`
				Detail        string          `json:"detail"`
			}{r.ID, result.Status, result.LatencyMicros, result.Detail}
		default:
			return fmt.Errorf("request %q", r.Type)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return requests.Err()
}
