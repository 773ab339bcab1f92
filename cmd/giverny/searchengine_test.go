package main

import (
	"fmt"
	"os"
	"time"

	"github.com/giverny/giverny/search/engine/enginetest"
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
	return enginetest.Serve("F", pause, os.Stdin, os.Stdout)
}
