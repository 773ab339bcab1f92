package main

import (
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

// writeIndented replaces a file that the user named by a value as indented JSON.
func writeIndented(path string, value any) error {
	return atomicfile.WriteOutputBy(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(value)
	})
}
