// Package recorded reads readings of counters that were recorded, as JSON lines or by ibdiagnet, for offline analysis by
// the code of the live one.
package recorded

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/giverny/giverny/internal/dbcsv"
)

// Row is one reading of a port's counters, a line of a file.
type Row struct {
	Source   string            `json:"source"`
	Time     time.Time         `json:"time"`
	Device   string            `json:"device"`
	Port     string            `json:"port"`
	Counters map[string]uint64 `json:"counters"`
}

const (
	// maxLine bounds a line, in bytes: a port has at most a thousand counters of a name and 20 digits.
	maxLine = 1 << 20
	// mostBack is how much earlier than the reading before it a reading of the same file may be: several devices are read
	// at once.
	mostBack = time.Minute
)

// Reader merges files of rows by time.
type Reader struct{ files byTime }

// NewReader returns a Reader without files.
func NewReader() *Reader { return &Reader{} }

// Add adds a file by its name and its text. Its rows must be in order of time. Blank lines and those that begin with # are skipped.
func (r *Reader) Add(name string, text io.Reader) error {
	f := &file{name: name, lines: bufio.NewScanner(text)}
	f.lines.Buffer(nil, maxLine)
	err := f.advance()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		heap.Push(&r.files, f)
	}
	return err
}

// Next returns the earliest row of all files, or io.EOF after the last. Other errors name the file and the line.
func (r *Reader) Next() (Row, error) {
	if len(r.files) == 0 {
		return Row{}, io.EOF
	}
	f := r.files[0]
	row := f.head
	switch err := f.advance(); {
	case errors.Is(err, io.EOF):
		heap.Pop(&r.files)
	case err != nil:
		return Row{}, err
	default:
		heap.Fix(&r.files, 0)
	}
	return row, nil
}

// file is a file of rows; head is its next one.
type file struct {
	name  string
	lines *bufio.Scanner
	line  int
	table *dbcsv.Reader // instead of lines
	at    time.Time     // of all rows of table
	head  Row
}

// advance reads the next row into head.
func (f *file) advance() error {
	if f.table != nil {
		return f.advanceTable()
	}
	for f.lines.Scan() {
		f.line++
		text := bytes.TrimSpace(bytes.TrimPrefix(f.lines.Bytes(), []byte("\ufeff")))
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		err := f.parse(text)
		if err != nil && !f.lines.Scan() && f.lines.Err() != nil {
			err = f.lines.Err() // which cut the line off
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", f.name, f.line, err)
		}
		return nil
	}
	if err := f.lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", f.name, f.line+1, err)
	}
	return io.EOF
}

func (f *file) parse(text []byte) error {
	before := f.head.Time
	f.head = Row{}
	err := json.Unmarshal(text, &f.head)
	switch {
	case err != nil:
		return fmt.Errorf("%w; want an object as giverny collect --once --json prints it, with time in RFC 3339 and counters as whole numbers", err)
	case f.head.Time.IsZero() || f.head.Device == "" || f.head.Port == "":
		return errors.New("want time, device and port")
	case f.head.Time.Before(before.Add(-mostBack)):
		return fmt.Errorf("time %s comes after %s: want readings in order of time", f.head.Time.Format(time.RFC3339), before.Format(time.RFC3339))
	}
	return nil
}

// byTime is a heap of files by the time of their next row.
type byTime []*file

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].head.Time.Before(h[j].head.Time) }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(f any)        { *h = append(*h, f.(*file)) }

func (h *byTime) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
