package ondemand_test

import (
	"fmt"
	"os"

	"github.com/giverny/giverny/search/engine/enginetest"
	"github.com/giverny/giverny/search/ondemand"
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
	if err := enginetest.Serve(name, 0, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
