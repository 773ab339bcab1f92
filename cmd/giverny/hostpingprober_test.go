package main

import (
	"fmt"
	"os"

	"github.com/giverny/giverny/hostping/prober/probertest"
)

// testProber is the name under which the test binary is a program behind the prober
// protocol, over a simulated host: see probertest.Main.
const testProber = "giverny-test-prober"

func serveTestProber() {
	if err := probertest.Main(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
