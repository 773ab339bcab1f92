//go:build engine || integration

package store

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// describes counts the queries for the columns of a table.
type describes struct {
	http.RoundTripper
	n atomic.Int64
}

func (d *describes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte("DESCRIBE TABLE")) {
			d.n.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return d.RoundTripper.RoundTrip(r)
}

// An insert queries the types of its columns once, and again after a failed insert.
func TestTypesAreAskedForOnce(t *testing.T) {
	var asked describes
	opts := *migratedDB(t).opts
	opts.TransportFunc = func(plain *http.Transport) (http.RoundTripper, error) {
		asked.RoundTripper = plain
		return &asked, nil
	}
	db := openDB(t, &opts, DefaultConfig())
	store := func(n int64) int64 {
		before := asked.n.Load()
		if err := db.Store(t.Context(), someResult("bw", n, 1000)); err != nil {
			t.Fatal(err)
		}
		return asked.n.Load() - before
	}
	if first, second := store(1), store(2); first == 0 || second != 0 {
		t.Errorf("asked %d times for the first interval and %d times for the second", first, second)
	}
	for statement := range db.writer.types {
		db.writer.forgetTypes(statement)
	}
	if again := store(3); again == 0 {
		t.Error("not asked again after a failure")
	}
}
