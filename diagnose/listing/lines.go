package listing

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/giverny/giverny/schema"
)

// Lines prints a line of JSON per diagnosis.
type Lines struct{ out *bufio.Writer }

// NewLines returns a listing for programs.
func NewLines(w io.Writer) *Lines { return &Lines{bufio.NewWriter(w)} }

// Write prints the diagnoses of an interval.
func (w *Lines) Write(found []schema.Diagnosis, _ map[uint64]string) error {
	enc := json.NewEncoder(w.out)
	enc.SetEscapeHTML(false)
	for i := range found {
		if err := enc.Encode(&found[i]); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// Mitigated prints nothing: events are no diagnoses.
func (w *Lines) Mitigated([]schema.Event) {}

// Close prints nothing.
func (w *Lines) Close(func(io.Writer)) error { return nil }
