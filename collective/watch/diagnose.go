package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// diagnose reads the records of a job and makes a report. Unreadable files are skipped
// and noted. reason is the drop reason of the error. It stops when ctx ends, both while
// reading and while computing.
func (w *Watcher) diagnose(ctx context.Context, root *os.Root, folder *Folder, name string, j *job, listed *listing) (r *report.Report, reason string, err error) {
	if listed.bytes > w.cfg.MaxBytes {
		return nil, dropTooLarge, fmt.Errorf("records of %d bytes: collect.collectives.max_bytes is %d", listed.bytes, w.cfg.MaxBytes)
	}
	if listed.tooMany {
		return nil, dropTooMany, fmt.Errorf("more files than collect.collectives.max_files (%d)", w.cfg.MaxFiles)
	}
	format, err := records.Named(folder.Format)
	if err != nil {
		return nil, dropNoRecords, err
	}
	files := records.Files{Names: listed.files, Open: until(ctx, open(root, w.cfg.MaxBytes))}
	opt := collective.Options{Stop: func() bool { return ctx.Err() != nil }}
	run, d, err := format.Diagnose(files, opt)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		good, bad := format.Readable(files)
		if len(bad) == 0 || len(good) == 0 {
			return nil, dropNoRecords, err
		}
		for _, fault := range bad {
			w.drop(dropUnreadable, 1, folder, name, fault)
		}
		files.Names = good
		if run, d, err = format.Diagnose(files, opt); err != nil {
			return nil, dropNoRecords, err
		}
		d.Notes = append(d.Notes, "left out: "+plural.Count(len(bad), "file", "files")+" that cannot be read")
	}
	m := report.Meta{Job: name, Format: folder.Format, Devices: w.devices(root, folder, name, listed, &run, &d), Begin: begin(j, listed, &d)}
	made, err := report.New(run, d, m)
	if err != nil {
		return nil, dropImpossible, err
	}
	return &made, "", nil
}

// until wraps open so that reads fail once ctx has ended.
func until(ctx context.Context, open records.Open) records.Open {
	return func(name string) (io.ReadCloser, error) {
		file, err := open(name)
		return &readUntil{file, ctx}, err
	}
}

type readUntil struct {
	io.ReadCloser
	ctx context.Context
}

// Read reads until the context ends.
func (r *readUntil) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

// earliestClock is the earliest plausible time of a record's clock: simulations begin
// at 0, profilers at process start, and hosts whose clock was never set at 1970.
var earliestClock = schema.InstantOf(time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC))

// begin is when the first step or the wait began. If the records do not say so in UTC,
// they are assumed to have been written when the collectives ended. A job that was
// published before keeps its begin, so that the new report replaces the old one, unless
// a late dump is of a rank that has waited for longer.
func begin(j *job, listed *listing, d *collective.Diagnosis) schema.Instant {
	at := schema.Instant(d.FirstNanos)
	switch {
	case at >= earliestClock && len(d.CriticalPath) > 0:
		return at
	case at >= earliestClock:
		if j.Begin == 0 || int64(at) > j.Begin {
			j.Begin = int64(at)
		}
		return schema.Instant(j.Begin)
	case j.Begin == 0:
		j.Begin = listed.newest.UnixNano() - d.MakespanNanos
	}
	d.Notes = append(d.Notes, "the records have no UTC start time: it is estimated from when the files were written")
	return schema.Instant(j.Begin)
}

// devices returns the devices of the ranks' hosts. The report omits unknown ones, and
// no region is found for their flows.
func (w *Watcher) devices(root *os.Root, folder *Folder, name string, listed *listing, run *collective.Run, d *collective.Diagnosis) [][]string {
	var own nodes.Map
	var err error
	if listed.nodeMap {
		if own, err = nodes.OpenMap(open(root, maxNodeMap), path.Join(name, NodeMapName)); err != nil {
			w.drop(dropNodeMap, 1, folder, name, err)
		}
	}
	hosts := make([]string, len(run.Ranks))
	for i, r := range run.Ranks {
		hosts[i] = r.Node
	}
	found := w.deps.Devices(folder, own, hosts)
	unknown := 0
	for i := range found {
		if len(found[i]) == 0 {
			found[i] = []string{}
			unknown++
		}
	}
	if unknown > 0 {
		w.drop(dropNoDevice, unknown, folder, name, nil)
		d.Notes = append(d.Notes, "no regions for "+plural.Count(unknown, "host", "hosts")+" of the ranks: the fabric has no such device")
	}
	return found
}

// maxNodeMap bounds the size in bytes of a job's own node map.
const maxNodeMap = 4 << 20
