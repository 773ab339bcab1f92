// Package watch looks for records of collectives in folders with one subfolder per job,
// and diagnoses and publishes a job once its files have stopped changing. The input is
// folders, and functions that map hosts to devices and publish a report; the output is
// reports, counters with a reason for everything skipped, and a state. It writes
// nothing to the folders, executes nothing in them, and follows no links out of them.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/faults"
)

// Config of a watcher.
type Config struct {
	// Folders to watch for records of collectives. Empty: watching is off.
	Folders []Folder `yaml:"folders"`
	// Time between two listings of the folders.
	Interval time.Duration `yaml:"interval"`
	// A job is diagnosed when its files have not changed for this time.
	Settle time.Duration `yaml:"settle"`
	// A job whose files keep changing is diagnosed after this time.
	Patience time.Duration `yaml:"patience"`
	// A job is skipped if all its files are older than this when it is first seen.
	MaxAge time.Duration `yaml:"max_age"`
	// Limit on the total size of a job's files, in bytes. Larger jobs are skipped.
	MaxBytes int64 `yaml:"max_bytes"`
	// Limit on the number of a job's files. Jobs with more are skipped.
	MaxFiles int `yaml:"max_files"`
}

// Folder is one folder that is watched.
type Folder struct {
	// Folder with one subfolder for each job. The subfolder's name is the job's id in the scheduler.
	Dir string `yaml:"dir"`
	// Format of the records: one that giverny collective diagnose --format accepts.
	Format string `yaml:"format"`
	// Fabric that the jobs' hosts are in. Empty: collect.fabric.
	Fabric string `yaml:"fabric"`
	// File of lines "host<TAB>device", for hosts whose device has another name in the topology. A job's folder can have its own, node_map.tsv.
	NodeMap string `yaml:"node_map"`
}

// DefaultConfig watches no folders.
func DefaultConfig() Config {
	return Config{Interval: 5 * time.Second, Settle: 30 * time.Second, Patience: 15 * time.Minute, MaxAge: 24 * time.Hour, MaxBytes: 512 << 20, MaxFiles: 8192}
}

// Enabled reports whether any folder is watched.
func (c *Config) Enabled() bool { return len(c.Folders) > 0 }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	seen := map[string]bool{}
	for i, folder := range c.Folders {
		key := func(name string) string { return fmt.Sprintf("folders.%d.%s", i, name) }
		f.Check(folder.Dir != "", key("dir"), "is empty; name the folder")
		f.Check(!seen[path.Clean(folder.Dir)], key("dir"), "%q is duplicated", folder.Dir)
		seen[path.Clean(folder.Dir)] = true
		_, err := records.Named(folder.Format)
		f.Check(err == nil, key("format"), "%v", err)
	}
	f.Check(c.Interval >= 10*time.Millisecond, "interval", "%v: want 10ms or more", c.Interval)
	f.Check(c.Settle >= 0, "settle", "%v: want 0 or more", c.Settle)
	f.Check(c.Patience >= c.Settle, "patience", "%v: want settle (%v) or more", c.Patience, c.Settle)
	f.Check(c.MaxAge > 0, "max_age", "%v: want more than 0", c.MaxAge)
	f.Check(c.MaxBytes > 0, "max_bytes", "%d: want more than 0", c.MaxBytes)
	f.Check(c.MaxFiles > 0, "max_files", "%d: want more than 0", c.MaxFiles)
	return f.Err()
}

// Deps are a watcher's dependencies. All are required.
type Deps struct {
	// Devices returns each host's devices in the folder's fabric, none for an unknown
	// host. The job's own node map takes precedence over the folder's.
	Devices func(folder *Folder, own nodes.Map, hosts []string) [][]string
	// Publish publishes a report and returns its id. A FinalError is not retried.
	Publish func(ctx context.Context, fabric string, r *report.Report) (id string, err error)

	StatePath  string // of the file that records what was published
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// FinalError is a permanent error, which is not retried.
type FinalError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *FinalError) Unwrap() error { return e.Err }

// Watcher watches the folders.
type Watcher struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	jobs    map[string]*job // by folder and job
	strays  map[string]bool // entries of folders that are not jobs, already counted
	unsaved bool            // the state file lacks changes of jobs

	mu    sync.Mutex
	state map[string]string // by folder, or the state file: why it makes no progress; guarded by mu
}

// job is the state of one job's records.
type job struct {
	seen   fingerprint    // of the files as last listed
	since  time.Time      // since when they are unchanged
	first  time.Time      // when the first undiagnosed change was seen
	retry  time.Time      // no attempt before then
	failed int            // consecutive failed attempts to publish
	made   *report.Report // of the current files, not yet published

	unlisted bool // the last listing failed
	handled
}

// handled is the persisted state of a job: the files that were diagnosed, and the
// report that was published.
type handled struct {
	Files fingerprint `json:"files"`
	Begin int64       `json:"begin,omitempty"` // ns; for a run without steps, or as estimated if the records do not have it in UTC
	RunID string      `json:"run_id,omitempty"`
}

// New returns a Watcher that does not list anything yet.
func New(cfg Config, deps Deps) (*Watcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	w := &Watcher{cfg: cfg, deps: deps, metrics: m, jobs: map[string]*job{}, strays: map[string]bool{}, state: map[string]string{}}
	for key, done := range readState(deps.StatePath, deps.Log) {
		w.jobs[key] = &job{handled: done}
	}
	return w, nil
}

// Run watches until ctx is cancelled.
func (w *Watcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.cfg.Interval)
	defer ticker.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// State is the state for readiness in one word; empty if all is well.
func (w *Watcher) State() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	worst := ""
	for _, s := range w.state {
		worst = max(worst, s)
	}
	return worst
}

// Error states of a folder.
const (
	stateBehind     = "behind"     // reports cannot be published
	stateUnreadable = "unreadable" // the folder cannot be listed
	stateUnsaved    = "unsaved"    // what was published cannot be recorded: after a restart it is published again
)

func (w *Watcher) setState(folder, state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state == "" {
		delete(w.state, folder)
		return
	}
	w.state[folder] = state
}

// look lists every folder once and diagnoses the jobs that are ready.
func (w *Watcher) look(ctx context.Context) {
	for i := range w.cfg.Folders {
		folder := &w.cfg.Folders[i]
		if err := w.folder(ctx, folder); err != nil && ctx.Err() == nil {
			w.metrics.failures.Inc()
			w.deps.Log.Warn("collectives: folder not listed, retrying", "folder", folder.Dir, "error", err)
			w.setState(folder.Dir, stateUnreadable)
		}
	}
	w.save()
	w.metrics.jobs.Set(float64(len(w.jobs)))
}

// save writes the state file if it lacks anything.
func (w *Watcher) save() {
	if !w.unsaved {
		return
	}
	if err := writeState(w.deps.StatePath, w.jobs); err != nil {
		w.deps.Log.Warn("collectives: record of published reports not written, retrying", "file", w.deps.StatePath, "error", err)
		w.setState(w.deps.StatePath, stateUnsaved)
		return
	}
	w.unsaved = false
	w.setState(w.deps.StatePath, "")
}

func (w *Watcher) folder(ctx context.Context, folder *Folder) error {
	root, err := os.OpenRoot(folder.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := w.jobNames(root, folder)
	if err != nil {
		return err
	}
	behind := false
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		done, err := w.job(ctx, root, folder, name)
		behind = behind || err != nil
		w.unsaved = w.unsaved || done
	}
	w.unsaved = w.forget(folder, names) || w.unsaved
	w.setState(folder.Dir, map[bool]string{true: stateBehind}[behind])
	return nil
}

// forget drops the state of jobs whose folders are gone, and reports whether there were
// any.
func (w *Watcher) forget(folder *Folder, names []string) (any bool) {
	for key := range w.jobs {
		dir, name := splitKey(key)
		if dir != path.Clean(folder.Dir) {
			continue
		}
		if _, there := slices.BinarySearch(names, name); !there {
			delete(w.jobs, key)
			any = true
		}
	}
	return any
}

// job lists the files of one job and diagnoses them when they are ready. done reports that
// the job's persisted state changed; an error is one of publishing, which is retried.
func (w *Watcher) job(ctx context.Context, root *os.Root, folder *Folder, name string) (done bool, err error) {
	now := w.deps.Now()
	key := keyOf(folder.Dir, name)
	j := w.jobs[key]
	listed, err := list(root, name, folder.Format, w.cfg.MaxFiles)
	if err != nil {
		if j == nil {
			j = &job{}
			w.jobs[key] = j
		}
		if !j.unlisted { // once, until it can be listed again
			j.unlisted = true
			w.drop(dropUnreadable, 1, folder, name, err)
		}
		return false, nil
	}
	if j == nil || j.seen == "" && j.Files == "" {
		j = &job{}
		w.jobs[key] = j
		if len(listed.files) > 0 && now.Sub(listed.newest) > w.cfg.MaxAge {
			w.drop(dropOld, 1, folder, name, nil)
			j.seen, j.Files = listed.print, listed.print
			return true, nil
		}
	}
	j.unlisted = false
	if listed.print != j.seen {
		if j.first.IsZero() {
			j.first = now
		}
		j.seen, j.since, j.retry, j.failed, j.made = listed.print, now, time.Time{}, 0, nil
	}
	if j.seen == j.Files {
		j.first = time.Time{}
		return false, nil
	}
	if len(listed.files)+len(listed.dropped) == 0 || now.Before(j.retry) || now.Sub(j.since) < w.cfg.Settle && now.Sub(j.first) < w.cfg.Patience {
		return false, nil
	}
	return w.handle(ctx, root, folder, name, j, listed)
}

// handle diagnoses a job and publishes the result.
func (w *Watcher) handle(ctx context.Context, root *os.Root, folder *Folder, name string, j *job, listed *listing) (done bool, err error) {
	r, reason := j.made, ""
	if r == nil {
		for reason, n := range listed.dropped {
			w.drop(reason, n, folder, name, nil)
		}
		if r, reason, err = w.diagnose(ctx, root, folder, name, j, listed); ctx.Err() != nil {
			return false, nil // left to the next watcher
		}
	}
	if err == nil {
		j.made = r
		j.RunID, err = w.deps.Publish(ctx, folder.Fabric, r)
		if err != nil && ctx.Err() != nil {
			return false, nil
		}
		if _, final := errors.AsType[*FinalError](err); final {
			reason = dropNotTaken
		} else if err != nil {
			const most = 8 // doublings: at the default interval of 5s, a retry every 21 minutes
			j.failed = min(j.failed+1, most)
			j.retry = w.deps.Now().Add(w.cfg.Interval << j.failed)
			w.metrics.retries.Inc()
			w.deps.Log.Warn("collectives: report not accepted, retrying", "folder", folder.Dir, "job", name, "error", err)
			return false, err
		}
	}
	j.Files, j.first, j.made = listed.print, time.Time{}, nil
	if err != nil {
		w.drop(reason, 1, folder, name, err)
		return true, nil
	}
	w.metrics.published.Inc()
	w.deps.Log.Info("collectives: diagnosis published", "folder", folder.Dir, "job", name, "run", j.RunID, "culprits", len(r.Diagnosis.Culprits))
	return true, nil
}

func (w *Watcher) drop(reason string, n int, folder *Folder, job string, err error) {
	w.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	args := []any{"folder", folder.Dir, "job", job, "reason", reason, "number", n}
	if err != nil {
		args = append(args, "error", err)
	}
	w.deps.Log.Warn("collectives: dropped", args...)
}
