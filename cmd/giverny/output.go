package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/giverny/giverny/internal/atomicfile"
)

// printLines writes each element of a list as one line of JSON.
func printLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	for i := range list {
		if err := enc.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeOutput replaces a file that the user named by what write writes, if it writes it all.
func writeOutput(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	return atomicfile.WriteOutput(path, content.Bytes())
}

// writeIndented is writeOutput of a value as indented JSON.
func writeIndented(path string, value any) error {
	return writeOutput(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(value)
	})
}
