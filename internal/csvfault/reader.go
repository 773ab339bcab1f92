package csvfault

import (
	"encoding/csv"
	"fmt"
	"io"
)

// maxRecordBytes bounds a record: a row with all lines of its quoted fields. A job with
// a list of 100,000 node names takes half of it.
const maxRecordBytes = 4 << 20

// Reader reads CSV in bounded memory. For a file without line ends, such as a small gzip
// file of gigabytes of data, or with an unclosed quotation mark, encoding/csv would read
// everything as one record.
type Reader struct {
	*csv.Reader
	in   *budget
	line int // of the last record
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader {
	in := &budget{r: r}
	return &Reader{Reader: csv.NewReader(in), in: in}
}

// Read returns the next record. A record above the limit is an error that ends the table.
func (r *Reader) Read() ([]string, error) {
	r.in.left = maxRecordBytes
	record, err := r.Reader.Read()
	switch {
	case r.in.spent:
		where := "the first row"
		if r.line > 0 {
			where = fmt.Sprintf("the row after line %d", r.line)
		}
		return nil, fmt.Errorf("%s is longer than %d bytes: close a quotation mark there, or give a table", where, maxRecordBytes)
	case err == nil:
		r.line, _ = r.FieldPos(0)
	}
	return record, err
}

// budget reads up to left bytes.
type budget struct {
	r     io.Reader
	left  int
	spent bool
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.spent = true
		return 0, io.ErrShortBuffer
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
