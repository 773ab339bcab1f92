package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// fullDisk is a standard output that fails.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// Lost output is an error of every command, including those that print line by line.
func TestOutputThatIsLostIsAnError(t *testing.T) {
	t.Setenv("GIVERNY_CONFIG", "")
	for _, args := range []string{"topology show fattree:k=4", "topology links fattree:k=4", "simulate stories", "version", "config check --dump-config", "--help", "search run --budget 3"} {
		root := newRoot()
		root.SetArgs(strings.Fields(args))
		root.SetErr(io.Discard)
		if _, err := execute(t.Context(), root, fullDisk{}); !errors.Is(err, errFull) {
			t.Errorf("giverny %s: %v", args, err)
		}
	}
}

// The configuration can be printed without a command; without the flag the commands are listed.
func TestTheConfigurationWithoutACommand(t *testing.T) {
	t.Setenv("GIVERNY_CONFIG", "")
	t.Setenv("GIVERNY_LOG_LEVEL", "warn")
	for args, want := range map[string]string{"--dump-config": "level: warn", "": "Monitor a fabric:"} {
		root := newRoot()
		root.SetArgs(strings.Fields(args))
		var out strings.Builder
		if _, err := execute(t.Context(), root, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("giverny %s: %v, and not %q in\n%s", args, err, want, out.String())
		}
	}
}

// An unknown subcommand is an error, so that scripts do not take it for a success.
func TestUnknownSubcommandsAreErrors(t *testing.T) {
	t.Setenv("GIVERNY_CONFIG", "")
	for _, held := range newRoot().Commands() {
		if !held.HasSubCommands() {
			continue
		}
		root := newRoot()
		root.SetArgs([]string{held.Name(), "nosuch"})
		root.SetErr(io.Discard)
		if _, err := execute(t.Context(), root, io.Discard); err == nil || !strings.Contains(err.Error(), `unknown command "nosuch"`) {
			t.Errorf("giverny %s nosuch: %v", held.Name(), err)
		}
	}
}
