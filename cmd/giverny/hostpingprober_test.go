package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/giverny/giverny/hostping/prober/probertest"
)

// testProber is the name under which the test binary implements the prober protocol. Its arguments are a host
// description and a seed; then an endpoint whose probes hang; then faults as for --fault.
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
	return probertest.Serve(p.Host, hangs, os.Stdin, os.Stdout)
}

// testHost is the name under which it simulates a host with an intermittent fault: see
// probertest.Main.
const testHost = "giverny-test-host"

func serveTestHost() {
	if err := probertest.Main(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
