package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/textmark"
	"github.com/giverny/giverny/schema"
)

// Options are how to parse a file of jobs.
type Options struct {
	Format string         // one of Formats; empty: detected by the first bytes
	Zone   *time.Location // for times without a zone; nil: UTC
	RawIDs bool

	Counted *feeds.Counted // rows that were refused when the file was read before; nil: none
}

// Formats lists the names of the file formats.
func Formats() []string { return []string{"jsonl", "csv", "sacct", "slurm-json", "pods"} }

// Read reads a whole file of jobs. name is its name in errors.
func Read(r io.Reader, name string, opt Options) (List, error) {
	in := textmark.Skip(r)
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	if opt.Format == "" {
		head, _ := in.Peek(4 << 10)
		opt.Format = formatOf(head)
	}
	list := List{name: name, Drops: feeds.Drops{Counted: opt.Counted}}
	var err error
	switch opt.Format {
	case "jsonl":
		list, err = readLines(in, list, opt.Zone)
	case "csv":
		list, err = readCSV(in, list, opt.Zone)
	case "sacct":
		list, err = readSacct(in, list, SacctOptions{Zone: opt.Zone, RawIDs: opt.RawIDs})
	case "slurm-json":
		list, err = ReadSlurmJSON(in, name, SlurmOptions{RawIDs: opt.RawIDs})
	case "pods":
		list, err = readPods(in, name)
	default:
		err = fmt.Errorf("%s: format %q: want %s", name, opt.Format, strings.Join(Formats(), ", "))
	}
	list.Complete, list.Counted = false, nil // an old file says nothing about the present
	return list, err
}

// jobsKey is the key of the list in Slurm's JSON; a job name may be "jobs" too.
var jobsKey = regexp.MustCompile(`"jobs"\s*:`)

// apiVersionKey is a key of every object of Kubernetes.
var apiVersionKey = regexp.MustCompile(`"apiVersion"\s*:`)

// formatOf detects the format of a file by its first bytes.
func formatOf(head []byte) string {
	head = bytes.TrimLeft(head, " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("{")) && (bytes.Contains(line, []byte(`"job_id"`)) && !jobsKey.Match(line)):
		return "jsonl"
	case bytes.HasPrefix(head, []byte("{")) && apiVersionKey.Match(head) && !jobsKey.Match(head):
		return "pods"
	case bytes.HasPrefix(head, []byte("{")):
		return "slurm-json"
	case bytes.Contains(line, []byte("JobID")) || bytes.Contains(line, []byte("JobIDRaw")):
		return "sacct"
	}
	return "csv"
}

// FileConfig configures a file of jobs written by another program.
type FileConfig struct {
	// The file; it is read again as a whole when it has changed.
	Path string `yaml:"path"`
	// jsonl, csv, sacct, slurm-json or pods; empty: detected by its first bytes.
	Format string `yaml:"format"`
	// The time zone of times without one (sacct prints local time): a name such as Europe/Berlin, UTC or Local.
	TimeZone string `yaml:"time_zone"`
	// Use slurmctld's job numbers as ids, not 123_4 for an element of an array.
	RawIDs bool `yaml:"raw_ids"`

	Limits Limits `yaml:",inline"`
}

// FileKind is the entry in the registry.
func FileKind() feeds.Kind {
	return feeds.Kind{Name: "file", Description: "A file of jobs: JSON lines, CSV, or output of sacct or squeue.", Interval: 30 * time.Second, NewConfig: func() feeds.SourceConfig {
		return &FileConfig{TimeZone: "Local", Limits: defaultLimits()}
	}}
}

// Validate joins all errors. The path may be empty while the feed is disabled; Open checks it.
func (c *FileConfig) Validate() error {
	var f faults.List
	known := c.Format == ""
	for _, format := range Formats() {
		known = known || c.Format == format
	}
	f.Check(known, "format", "%q: want %s, or empty", c.Format, strings.Join(Formats(), ", "))
	_, err := zoneOf(c.TimeZone)
	f.Check(err == nil, "time_zone", "%v", err)
	c.Limits.validate(&f)
	return f.Err()
}

// Open creates the source. Nothing is read yet.
func (c *FileConfig) Open(env feeds.Env) (feeds.Source, error) {
	if c.Path == "" {
		return nil, errors.New("path: empty; want a file of jobs")
	}
	zone, err := zoneOf(c.TimeZone)
	if err != nil {
		return nil, err
	}
	return newSource(&file{cfg: c, zone: zone, counted: feeds.NewCounted()}, c.Limits, env)
}

type file struct {
	cfg     *FileConfig
	zone    *time.Location
	read    fs.FileInfo // as it was when it was last read; nil: not yet
	ahead   bool        // it had times ahead of the clock when it was read
	partial bool        // its last line was left out because it has no end yet
	counted *feeds.Counted
}

// hasLines reports whether each line of the file counts by itself.
func (f *file) hasLines(in io.ReaderAt) bool {
	head := make([]byte, 4<<10)
	n, _ := in.ReadAt(head, 0) // Read reports the error
	switch cmp.Or(f.cfg.Format, formatOf(head[:n])) {
	case "slurm-json", "pods":
		return false
	}
	return true
}

func (f *file) list(_ context.Context, now, _ time.Time) (List, error) {
	in, err := plainfile.Open(f.cfg.Path)
	if err != nil {
		return List{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return List{}, err
	}
	rests := f.read != nil && info.Size() == f.read.Size() && info.ModTime().Equal(f.read.ModTime())
	if rests && !f.ahead && !f.partial {
		return List{}, nil
	}
	end := info.Size()
	if f.read != nil && os.SameFile(f.read, info) && end > f.read.Size() && f.hasLines(in) { // it grows: the last line may be incomplete
		if end, err = plainfile.EndOfLines(in, end); err != nil {
			return List{}, err
		}
	}
	list := List{}
	if end > 0 || info.Size() == 0 {
		list, err = Read(bounded.Reader(io.NewSectionReader(in, 0, end), feeds.MaxOutput), f.cfg.Path, Options{Format: f.cfg.Format, Zone: f.zone, RawIDs: f.cfg.RawIDs, Counted: f.counted})
	}
	if rests && !f.partial {
		list.Drops = feeds.Drops{}
	}
	if err == nil {
		f.read, f.partial = info, end < info.Size()
		f.ahead = slices.ContainsFunc(list.Rows, func(r Row) bool { return max(r.Job.Start, r.Job.End) > schema.InstantOf(now) })
	}
	return list, err
}
