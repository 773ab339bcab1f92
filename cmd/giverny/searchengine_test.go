package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/search/engine/enginetest"
)

// testEngine is the name under which the test binary implements the engine protocol, for
// subsystem F. Its argument is the duration of each measurement.
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

// TestPairsAreBounded: too many pairs are rejected before engines are started.
func TestPairsAreBounded(t *testing.T) {
	for _, pairs := range []int{-1, 0, 1025} {
		f := &engineFlags{name: engineExec, command: "/nonexistent/engine", pairs: pairs}
		if _, err := f.open(nil); err == nil || !strings.Contains(err.Error(), "want 1 to 1024") {
			t.Errorf("--pairs %d: %v", pairs, err)
		}
	}
}
