package main

import (
	"encoding/json"
	"io"
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
