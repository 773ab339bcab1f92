package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

func TestExplained(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "missing"))
	_, folder := os.ReadFile(t.TempDir())
	_, input := os.Open("-")
	refused := &fs.PathError{Op: "open", Path: "key", Err: syscall.EACCES}
	cmd := &cobra.Command{Use: "look FILE"}
	for want, err := range map[string]error{
		"check the path":                                                                     fmt.Errorf("links: %w", missing),
		"give /dev/stdin to read standard input":                                             input,
		"give a file instead of a folder":                                                    folder,
		"run as a user with access, or change the file's permissions":                        refused,
		"the file is damaged or has another format: see look --help":                         json.Unmarshal([]byte("{"), &struct{}{}),
		"the connection was closed unexpectedly: check the log of the other side, and retry": &url.Error{Op: "Get", URL: "http://giverny:8080", Err: io.ErrUnexpectedEOF},
		"usage: look FILE; see look --help":                                                  cobra.ExactArgs(1)(cmd, nil),
	} {
		got := explained(cmd, err)
		if got.Error() != err.Error()+"; "+want || !errors.Is(got, err) {
			t.Errorf("%v: %v, want %s", err, got, want)
		}
	}
	for said, want := range map[string]string{"the disk is full": "the disk is full", `bare.yaml: fabric "x" has no links`: `bare.yaml: fabric "x" has no links`, "a.yaml: unexpected EOF; write it again": "a.yaml: unexpected EOF; write it again",
		"a: yaml: unmarshal errors:\n  line 1: a list": "a: yaml: unmarshal errors: line 1: a list; the file is damaged or has another format: see look --help",
		"write a: full\nwrite a: full":                 "write a: full", "write a: full\nwrite b: full": "write a: full\nwrite b: full",
		"one\nand another: yaml: fault": "one\nand another: yaml: fault"} {
		if got := explained(cmd, errors.New(said)).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
