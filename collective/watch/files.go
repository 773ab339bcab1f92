package watch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/bounded"
)

// maxJobs is how many jobs per folder are watched: the last ones by name.
const maxJobs = 4096

// NodeMapName is the file name of a job's own node map, next to its records.
const NodeMapName = "node_map.tsv"

// fingerprint is a hash of the names, sizes and modification times of files.
type fingerprint string

// listing is the result of listing a job's files.
type listing struct {
	files   []string // by their names in the watched folder
	bytes   int64
	newest  time.Time
	print   fingerprint
	lines   []string // the input of print
	entries int
	nodeMap bool           // it has its own node map
	tooMany bool           // there are more files than allowed
	dropped map[string]int // number of other entries, by reason
}

// jobNames lists the subfolders of a watched folder.
func (w *Watcher) jobNames(root *os.Root, folder *Folder) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !unfinished(e.Name()) {
			names = append(names, e.Name())
		} else if key := keyOf(folder.Dir, e.Name()); !w.strays[key] && len(w.strays) < maxJobs && !unfinished(e.Name()) {
			w.strays[key] = true
			w.drop(dropNoJob, 1, folder, e.Name(), nil)
		}
	}
	slices.Sort(names)
	if over := len(names) - maxJobs; over > 0 {
		for _, name := range names[:over] {
			if key := keyOf(folder.Dir, name); !w.strays[key] && len(w.strays) < 2*maxJobs {
				w.strays[key] = true
				w.drop(dropTooMany, 1, folder, name, nil)
			}
		}
		names = names[over:]
	}
	return names, nil
}

// unfinished reports whether a file name is typical of files that are still being
// written.
func unfinished(name string) bool {
	return strings.HasPrefix(name, ".") || slices.ContainsFunc([]string{".tmp", ".part", ".partial", ".swp", "~"}, func(s string) bool { return strings.HasSuffix(name, s) })
}

// list lists the files of a job, in its folder and subfolders.
func list(root *os.Root, name, form string, most int) (*listing, error) {
	format, err := records.Named(form)
	if err != nil {
		return nil, err
	}
	l := &listing{dropped: map[string]int{}}
	if err := l.walk(root, name, maxDepth, func(at string) bool { return format.Wanted(strings.TrimPrefix(at, name+"/")) }, most); err != nil {
		return nil, err
	}
	if l.tooMany {
		l.lines = append(l.lines, "and more\n")
	}
	slices.Sort(l.lines)
	slices.Sort(l.files)
	hash := sha256.Sum256([]byte(strings.Join(l.lines, "")))
	l.print, l.lines = fingerprint(hex.EncodeToString(hash[:16])), nil
	return l, nil
}

// batch is how many directory entries are read at a time.
const batch = 1024

func (l *listing) walk(root *os.Root, at string, depth int, wanted func(string) bool, most int) error {
	dir, err := root.Open(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			inner := at + "/" + e.Name()
			switch {
			case unfinished(e.Name()):
			case l.entries >= 2*most:
				l.tooMany = true
			case e.IsDir() && depth > 1:
				if err := l.walk(root, inner, depth-1, wanted, most); err != nil {
					return err
				}
			case e.IsDir():
				l.dropped[dropForeign]++
			default:
				if err := l.add(e, inner, depth == maxDepth, wanted, most); err != nil {
					return err
				}
			}
			if l.entries++; l.tooMany {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// add adds a file of a job.
func (l *listing) add(e fs.DirEntry, at string, top bool, wanted func(string) bool, most int) error {
	nodeMap := top && e.Name() == NodeMapName
	switch {
	case !e.Type().IsRegular():
		l.dropped[dropNotRegular]++
		return nil
	case !nodeMap && !wanted(at):
		l.dropped[dropForeign]++
		return nil
	case !nodeMap && len(l.files) == most:
		l.tooMany = true
		return nil
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // renamed in the meantime: the next listing has it
	} else if err != nil {
		return err
	}
	l.lines = append(l.lines, fmt.Sprintf("%q %d %d\n", at, info.Size(), info.ModTime().UnixNano()))
	if nodeMap {
		l.nodeMap = true
		return nil
	}
	l.files = append(l.files, at)
	l.bytes += info.Size()
	if info.ModTime().After(l.newest) {
		l.newest = info.ModTime()
	}
	return nil
}

// maxDepth is how many levels below the watched folder are read: a job's folder, and
// the subfolders of a format.
const maxDepth = 2

// open opens files below a folder. Files that are no longer regular are refused without
// blocking. A file of more than most bytes is an error.
func open(root *os.Root, most int64) records.Open {
	return func(name string) (io.ReadCloser, error) {
		file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s: not a regular file", name)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return struct {
			io.Reader
			io.Closer
		}{bounded.Reader(file, most), file}, nil
	}
}

func keyOf(dir, job string) string { return path.Clean(dir) + "\n" + job }

func splitKey(key string) (dir, job string) {
	dir, job, _ = strings.Cut(key, "\n")
	return dir, job
}

// noted is a row of the state file.
type noted struct {
	Folder string `json:"folder"`
	Job    string `json:"job"`
	handled
}

// readState reads what was published. If the file is unreadable, everything is
// published again under the same ids.
func readState(file string, log *slog.Logger) map[string]handled {
	out := map[string]handled{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	var rows []noted
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	if err != nil {
		log.Warn("collectives: record of published reports not readable, starting without it", "file", file, "error", err)
	}
	for _, r := range rows {
		out[keyOf(r.Folder, r.Job)] = r.handled
	}
	return out
}

func writeState(file string, jobs map[string]*job) error {
	rows := []noted{}
	for key, j := range jobs {
		if dir, name := splitKey(key); j.Files != "" {
			rows = append(rows, noted{dir, name, j.handled})
		}
	}
	slices.SortFunc(rows, func(a, b noted) int { return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Job, b.Job)) })
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return atomicfile.Write(file, text)
}
