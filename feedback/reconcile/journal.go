package reconcile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
)

// entry is a node that is marked or about to be.
type entry struct {
	Before State          `json:"before"` // state before the mark
	Marked State          `json:"marked"` // state with the mark
	At     schema.Instant `json:"at"`
	Fabric string         `json:"fabric"`
	Score  float64        `json:"score"`
	Reason string         `json:"reason"`
	// Released: its relief found the higher value of another client, which stays. The node is not marked any more; it is only
	// watched, since that client may be another process, which restores the value that it found: this mark.
	Released bool `json:"released,omitempty"`

	saved     bool // the file has it, so that a change of the node can be undone after a crash
	settled   bool // the scheduler has the mark
	acted     bool // it has been marked, so marking again is a reapply
	relieving bool

	// Back-off while the scheduler refuses to change the node; nil and zero otherwise.
	pauses *retry.Pauses
	due    time.Time // time of the next try
}

// journal lists the changed nodes with what is needed to undo the change (a write-ahead log). The file is replaced
// atomically and synced before a change recorded in it is made.
type journal struct {
	path    string
	release func()
	marks   string // Config.Marks of the process that marked the entries
	entries map[string]*entry
	text    []byte // content of the file
	stale   bool   // the last write failed, so the file is out of date
}

// journalName is the file name in the folder of the sink; journalForm the format version.
const (
	journalName = "journal.json"
	journalForm = 1
)

type journalFile struct {
	Form  int               `json:"form"`
	Marks string            `json:"marks,omitempty"`
	Nodes map[string]*entry `json:"nodes"`
}

// openJournal reads the journal in a folder and locks the folder for this process.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("feedback journal: %w", err)
	}
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("feedback journal: %w", err)
	}
	j := &journal{path: filepath.Join(dir, journalName), release: release}
	file, err := readJournal(j.path)
	if err != nil {
		release()
		return nil, err
	}
	j.marks, j.entries = file.Marks, file.Nodes
	for _, e := range j.entries {
		e.saved = true
	}
	return j, nil
}

func readJournal(path string) (file journalFile, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return journalFile{Nodes: map[string]*entry{}}, nil
	}
	if err != nil {
		return file, fmt.Errorf("feedback journal: %w", err)
	}
	err = json.Unmarshal(text, &file)
	if err == nil {
		err = file.check()
	}
	if err != nil {
		return file, fmt.Errorf("feedback journal %s: %w; it has the state of nodes before they were changed: move it aside, then restore them with giverny feedback lift, or by hand", path, err)
	}
	if file.Nodes == nil {
		file.Nodes = map[string]*entry{}
	}
	return file, nil
}

func (f *journalFile) check() error {
	if f.Form != journalForm {
		return fmt.Errorf("version %d, want %d", f.Form, journalForm)
	}
	for node, e := range f.Nodes {
		if e == nil {
			return fmt.Errorf("node %q is null", node)
		}
	}
	return nil
}

// save makes the file match the entries, and returns once it is synced to disk. It writes nothing if it matches already.
func (j *journal) save() error {
	text, err := json.MarshalIndent(journalFile{journalForm, j.marks, j.entries}, "", " ")
	if err != nil {
		return fmt.Errorf("feedback journal: %w", err)
	}
	if !j.stale && bytes.Equal(text, j.text) {
		return nil
	}
	err = atomicfile.Write(j.path, text)
	if j.stale = err != nil; j.stale {
		return fmt.Errorf("feedback journal: %w", err)
	}
	j.text = text
	for _, e := range j.entries {
		e.saved = true
	}
	return nil
}

// LeftBehind lists the nodes in the journal of a folder: nodes that a process has marked now, or has not restored before
// it ended.
func LeftBehind(dir string) ([]string, error) {
	file, err := readJournal(filepath.Join(dir, journalName))
	return slices.Sorted(maps.Keys(file.Nodes)), err
}
