package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file that cannot be written whole stays as it was.
func TestOutputFilesAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	write := func(text string, err error) error {
		return writeOutput(path, func(w io.Writer) error {
			_, writeErr := io.WriteString(w, text)
			return errors.Join(writeErr, err)
		})
	}
	if err := errors.Join(write("first", nil), write("bro", errFull)); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
}
