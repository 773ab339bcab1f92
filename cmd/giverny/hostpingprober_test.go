package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// testProber is the name under which the test binary is a program that speaks the prober protocol. Its arguments are a
// host's description and a seed; then an endpoint whose probes hang; then faults as for --fault.
const testProber = "giverny-test-prober"

func serveTestProber() {
	if err := answerProbes(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerProbes(args []string) error {
	g, err := readHost(args[0], "")
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	f := proberFlags{seed: seed}
	hangs := ""
	if len(args) > 2 {
		hangs, f.faults = args[2], args[3:]
	}
	p, err := f.simulated(&g)
	if err != nil {
		return err
	}
	return serveProbes(p.Host, hangs)
}

// serveProbes answers line by line.
func serveProbes(host *simulated.Host, hangs string) error {
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var request struct {
			Type string `json:"type"`
			hostping.Probe
		}
		if err := json.Unmarshal(in.Bytes(), &request); err != nil {
			return err
		}
		var err error
		switch request.Type {
		case "stop":
			return nil
		case "utilisation":
			err = out.Encode(host.Utilisation())
		default:
			if request.Endpoint == hangs {
				time.Sleep(time.Hour)
			}
			r := host.Probe(request.Probe)
			err = out.Encode(map[string]any{"id": request.ID, "status": r.Status, "latency_us": r.LatencyMicros, "detail": r.Detail})
		}
		if err != nil {
			return err
		}
	}
	return in.Err()
}
