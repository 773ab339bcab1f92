package csvfault_test

import (
	"io"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/csvfault"
)

// endless is an infinite text.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A record without an end is an error with its location, and does not take memory for the whole file.
func TestARecordWithoutAnEnd(t *testing.T) {
	for name, text := range map[string]io.Reader{
		"no line ends":    endless(0),
		"an open quote":   io.MultiReader(strings.NewReader("\""), endless('\n')),
		"an endless line": endless('x'),
	} {
		for _, lazy := range []bool{false, true} {
			r := csvfault.NewReader(io.MultiReader(strings.NewReader("a,b\n1,2\n"), text))
			r.LazyQuotes, r.FieldsPerRecord = lazy, -1
			records, err := 0, error(nil)
			for ; err == nil; records++ {
				_, err = r.Read()
			}
			if records != 3 || !strings.Contains(err.Error(), "the row after line 2 is longer than 4194304 bytes") {
				t.Errorf("%s: record %d: %v", name, records, err)
			}
		}
	}
}

// The limit is for a record, not for the table.
func TestALongTable(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	r := csvfault.NewReader(strings.NewReader(strings.Repeat(long+","+long+"\n", 5)))
	for n := 0; ; n++ {
		record, err := r.Read()
		if err == io.EOF && n == 5 {
			return
		}
		if err != nil || len(record) != 2 {
			t.Fatalf("record %d: %d fields, %v", n, len(record), err)
		}
	}
}
