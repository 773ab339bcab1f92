package playback

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/simulate/scenario"
)

// Files writes a story into a directory: the files of scenario.Recorder, and the
// links of each interval as seen by the analysis, computed from the devices' readings
// by the same window.
type Files struct {
	dir           string
	recorder      scenario.Recorder
	intervalNanos int64
	window        *window.Window
	links         *linkscsv.Writer // nil without a links CSV
	closers       []io.Closer      // in the order in which they were opened
}

// NewFiles creates the files in a directory; links is the name of the links CSV,
// which is compressed if it ends in .gz.
func NewFiles(dir, links string, r *scenario.Runner) (*Files, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f := &Files{dir: dir, intervalNanos: int64(r.Script().Interval)}
	if err := f.open(links, r); err != nil {
		return nil, errors.Join(err, f.closeAll())
	}
	return f, nil
}

func (f *Files) open(links string, r *scenario.Runner) (err error) {
	w := &f.recorder
	for name, into := range map[string]*io.Writer{"jobs.jsonl": &w.Jobs, "failures.tsv": &w.Failures, "traffic.csv": &w.Traffic, "truth.jsonl": &w.Truth} {
		if *into, err = f.create(name); err != nil {
			return err
		}
	}
	if r.HasDayFiles() {
		days := map[string]io.Writer{}
		w.Day = func(date string) (out io.Writer, err error) {
			if days[date] == nil {
				if days[date], err = f.create(date); err != nil {
					return nil, err
				}
			}
			return days[date], nil
		}
	}
	if links == "" {
		return nil
	}
	cfg := window.DefaultConfig()
	cfg.Interval = time.Duration(f.intervalNanos)
	if f.window, err = window.New(r.Graph(), cfg); err != nil {
		return err
	}
	file, err := f.create(links)
	if err != nil {
		return err
	}
	if strings.HasSuffix(links, ".gz") {
		zipped := gzip.NewWriter(file)
		f.closers = append(f.closers, zipped)
		file = zipped
	}
	f.links = linkscsv.NewWriter(file)
	return nil
}

func (f *Files) create(name string) (io.Writer, error) {
	file, err := os.Create(filepath.Join(f.dir, name))
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, file)
	return file, nil
}

// write writes an interval of the story.
func (f *Files) write(r *scenario.Runner, s *scenario.Step) error {
	if err := f.recorder.Record(r, s); err != nil {
		return err
	}
	if f.links == nil {
		return nil
	}
	for _, b := range s.Batches {
		if err := f.window.Add(b); err != nil {
			return fmt.Errorf("links of %s: %w", s.Interval, err)
		}
	}
	return f.writeLinks(math.MaxInt64)
}

// writeLinks writes the completed intervals that begin before an end. One that begins at the end of the story has readings of
// hosts whose clocks are ahead only.
func (f *Files) writeLinks(end schema.Instant) error {
	for s := f.window.Next(); s != nil && s.Interval.StartNanos < int64(end); s = f.window.Next() {
		if err := f.links.Write(s); err != nil {
			return err
		}
		f.window.Recycle(s)
	}
	return nil
}

// close ends the story at an instant, writes the intervals still open, and closes the
// files.
func (f *Files) close(end schema.Instant) error {
	var err error
	if f.links != nil {
		over := int64(end) + 2*f.intervalNanos // after any lateness
		f.window.Advance(over, over)
		err = errors.Join(f.writeLinks(end), f.links.Flush())
	}
	return errors.Join(err, f.closeAll())
}

// closeAll closes in reverse order of opening: a compressor before its file.
func (f *Files) closeAll() (err error) {
	for i := len(f.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, f.closers[i].Close())
	}
	f.closers = nil
	return err
}
