// Package traffic reads the I/O and RDMA traffic of jobs: tables with a row per job and interval, and Lustre's job
// statistics. Input: text. Output: schema.JobTraffic rows. What a source does not measure is unknown, never zero.
package traffic

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/csvfault"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/schema"
)

// ReadCSV reads time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes; a header gives the order, and
// other columns are ignored. Values are sums over the job's nodes in the interval starting at time, in bytes; empty
// is not measured. Malformed rows are counted and skipped. name is the file name in errors.
func ReadCSV(r io.Reader, name string) (feeds.Rows, error) { return readCSV(r, name, nil) }

func readCSV(r io.Reader, name string, counted *feeds.Counted) (rows feeds.Rows, err error) {
	rows.Counted = counted
	defer func() { rows.Counted = nil }()
	in := csvfault.NewReader(bufio.NewReaderSize(r, 64<<10))
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return rows, fmt.Errorf("%s:1: %w; want a header: time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes", name, err)
	}
	at := map[string]int{}
	for i, field := range head {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(field, "\ufeff")))] = i
	}
	for _, field := range []string{"time", "job_id"} {
		if _, ok := at[field]; !ok {
			return rows, fmt.Errorf("%s:1: no column %s; want time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes", name, field)
		}
	}
	for {
		f, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		if fault, ok := errors.AsType[*csv.ParseError](err); ok {
			rows.Refuse(feeds.Malformed, fmt.Sprintf("%s:%d", name, fault.StartLine), fault.Err.Error())
			continue
		}
		if err != nil {
			return rows, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		addRow(&rows, f, at, fmt.Sprintf("%s:%d", name, line))
	}
}

func addRow(rows *feeds.Rows, f []string, at map[string]int, where string) {
	field := func(name string) string {
		if i, ok := at[name]; ok && i < len(f) {
			return strings.TrimSpace(f[i])
		}
		return ""
	}
	t := schema.JobTraffic{JobID: strings.Clone(field("job_id"))}
	var err error
	if t.Time, err = schema.ParseInstant(field("time"), nil); err == nil && t.Time == 0 {
		err = errors.New("no time; want one such as 2026-01-05T00:30:00Z")
	}
	if err != nil {
		rows.Refuse(feeds.NoTime, where, err.Error())
		return
	}
	for name, into := range map[string]**float64{"read_bytes": &t.Read, "write_bytes": &t.Write, "rdma_read_bytes": &t.RDMARead, "rdma_write_bytes": &t.RDMAWrite} {
		text := field(name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !schema.IsBytes(v) {
			rows.Refuse(feeds.Malformed, where, fmt.Sprintf("%s %q: want a number of bytes, 0 or more and less than 2^64", name, text))
			return
		}
		*into = &v
	}
	if t.JobID == "" {
		rows.Refuse(feeds.Malformed, where, "no job_id")
		return
	}
	rows.Traffic = append(rows.Traffic, t)
}

// FileConfig configures a table written by another program.
type FileConfig struct {
	// The CSV table; new rows are appended.
	Path string `yaml:"path"`
}

// FileKind is the entry in the registry.
func FileKind() feeds.Kind {
	return feeds.Kind{Name: "file", Description: "A CSV of the traffic of jobs, a row per job and interval.", Interval: 30 * time.Second,
		NewConfig: func() feeds.SourceConfig { return &FileConfig{} }}
}

// Validate accepts everything: the path may be empty while the feed is disabled; Open checks it.
func (c *FileConfig) Validate() error { return nil }

// Open creates the source. Nothing is read yet.
func (c *FileConfig) Open(env feeds.Env) (feeds.Source, error) {
	if c.Path == "" {
		return nil, errors.New("path: empty; want a CSV of the traffic of jobs")
	}
	f := &file{path: c.Path, store: env.Store, counted: feeds.NewCounted()}
	_, err := env.Store.Load(&f.done, env.Log)
	return f, err
}

// file is read whole when it has changed; rows that were emitted already are skipped.
type file struct {
	path    string
	store   *feeds.Store
	size    int64
	changed time.Time
	rows    int  // of the last load: what follows them is new, also if it is of earlier times
	partial bool // its last row was skipped because it has no line end yet
	counted *feeds.Counted
	pending []schema.JobTraffic
	done    progress // emitted
	next    progress // returned by Read
}

// progress is how far a table was emitted: all rows before a time, and the given jobs of that time.
type progress struct {
	Time schema.Instant  `json:"time"`
	Jobs map[string]bool `json:"jobs"`
}

func (p *progress) has(t *schema.JobTraffic) bool {
	return t.Time < p.Time || t.Time == p.Time && p.Jobs[t.JobID]
}

func (p *progress) add(t *schema.JobTraffic) {
	if t.Time > p.Time {
		*p = progress{t.Time, map[string]bool{}}
	}
	if t.Time == p.Time {
		p.Jobs[t.JobID] = true
	}
}

// Read returns the remaining rows of the table, or reads it again.
func (f *file) Read(_ context.Context, _ time.Time) (rows feeds.Rows, err error) {
	if len(f.pending) == 0 {
		if rows, err = f.load(); err != nil {
			return feeds.Rows{Drops: rows.Drops}, err
		}
		f.pending, rows.Traffic = rows.Traffic, nil
	}
	n := min(len(f.pending), feeds.MaxRows)
	rows.Traffic, f.pending = f.pending[:n:n], f.pending[n:]
	rows.More, rows.Backlog = len(f.pending) > 0, len(f.pending)
	for i := range rows.Traffic {
		f.next.add(&rows.Traffic[i])
	}
	return rows, nil
}

func (f *file) load() (rows feeds.Rows, err error) {
	in, err := plainfile.Open(f.path)
	if err != nil {
		return rows, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return rows, err
	}
	rests := info.Size() == f.size && info.ModTime().Equal(f.changed)
	if rests && !f.partial {
		return rows, nil
	}
	end := info.Size()
	if !rests { // the last row may be incomplete
		if end, err = plainfile.EndOfLines(in, end); err != nil {
			return rows, err
		}
	}
	if end > 0 {
		if rows, err = readCSV(bounded.Reader(io.NewSectionReader(in, 0, end), feeds.MaxOutput), f.path, f.counted); err != nil {
			return rows, err
		}
	}
	appended := rows.Traffic[len(rows.Traffic):]
	if f.size > 0 && info.Size() >= f.size {
		appended = rows.Traffic[min(f.rows, len(rows.Traffic)):]
	}
	before := rows.Traffic[:len(rows.Traffic)-len(appended)]
	f.size, f.changed, f.partial, f.rows = info.Size(), info.ModTime(), end < info.Size(), len(rows.Traffic)
	rows.Traffic = slices.Concat(slices.DeleteFunc(before, func(t schema.JobTraffic) bool { return f.done.has(&t) }), appended)
	slices.SortStableFunc(rows.Traffic, func(a, b schema.JobTraffic) int { return cmp.Compare(a.Time, b.Time) })
	f.next = progress{f.done.Time, map[string]bool{}}
	for job := range f.done.Jobs {
		f.next.Jobs[job] = true
	}
	return rows, nil
}

// Commit saves how far the table was emitted.
func (f *file) Commit() error {
	if f.next.Time == f.done.Time && len(f.next.Jobs) <= len(f.done.Jobs) {
		return nil
	}
	done := progress{f.next.Time, map[string]bool{}}
	for job := range f.next.Jobs {
		done.Jobs[job] = true
	}
	if err := f.store.Save(done); err != nil {
		return err
	}
	f.done = done
	return nil
}
