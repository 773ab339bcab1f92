package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/schema"
)

// maxRemembered bounds the remembered commands. Only commands of known principals are remembered.
const maxRemembered = 4096

// memory remembers the commands that an agent has judged, in a small file that survives restarts, so that each is
// executed only once (the command's id is the idempotency key). It keeps a command for as long as the agent might
// read it again. It is not safe for concurrent use.
type memory struct {
	path string
	keep time.Duration // after a command's expiry

	content memoryFile
	index   map[string]*remembered
}

type memoryFile struct {
	Version int `json:"version"`
	// Since is the time from which the memory is complete: whether earlier commands were executed is unknown. It
	// advances when commands are forgotten, so that they do not become acceptable again if the clock is set back.
	Since    schema.Instant `json:"since"`
	Commands []*remembered  `json:"commands"`
}

// remembered is one command. Without an answer it was running when the file was written.
type remembered struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Expires schema.Instant `json:"expires"`
	Started schema.Instant `json:"started,omitzero"` // if it counts towards the hourly limit
	Running bool           `json:"running,omitempty"`
	// Answer is the final result, kept until Kafka has it.
	Answer *schema.CommandResult `json:"answer,omitempty"`
}

const memoryVersion = 1

var errMemoryFull = fmt.Errorf("%d commands are recorded already; wait until some have expired", maxRemembered)

// openMemory reads the file, or creates one beginning at now. A damaged file is moved aside and the memory also
// begins at now: nothing older is then executed.
func openMemory(path string, keep time.Duration, now schema.Instant) (m *memory, damaged error, err error) {
	m = &memory{path: path, keep: keep, index: map[string]*remembered{}}
	text, err := os.ReadFile(path)
	if err == nil {
		damaged = m.load(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the command record of this agent: %w", err)
	}
	if err == nil && damaged == nil {
		return m, nil, nil
	}
	if damaged != nil {
		if err := os.Rename(path, path+".damaged"); err != nil {
			return nil, damaged, fmt.Errorf("move the damaged %s aside: %w", path, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, damaged, fmt.Errorf("create the directory of the command record: %w", err)
	}
	m.content = memoryFile{Version: memoryVersion, Since: now}
	clear(m.index)
	return m, damaged, m.save()
}

func (m *memory) load(text []byte) error {
	if err := json.Unmarshal(text, &m.content); err != nil {
		return err
	}
	if m.content.Version != memoryVersion || m.content.Since <= 0 || len(m.content.Commands) > maxRemembered {
		return fmt.Errorf("version %d, since %v, %d commands", m.content.Version, m.content.Since, len(m.content.Commands))
	}
	for _, c := range m.content.Commands {
		if c == nil || c.ID == "" {
			return errors.New("a command without an id")
		}
		m.index[c.ID] = c
	}
	return nil
}

// knows reports whether a command was already judged.
func (m *memory) knows(id string) bool { return m.index[id] != nil }

// add remembers a command before it begins; it is on disk when add returns.
func (m *memory) add(c remembered, now schema.Instant) error {
	m.forget(now)
	if len(m.content.Commands) >= maxRemembered {
		return errMemoryFull
	}
	m.content.Commands = append(m.content.Commands, &c)
	m.index[c.ID] = &c
	if err := m.save(); err != nil {
		m.content.Commands = m.content.Commands[:len(m.content.Commands)-1]
		delete(m.index, c.ID)
		return err
	}
	return nil
}

// finish records the result of a command before it is published.
func (m *memory) finish(answer *schema.CommandResult) error {
	c := m.index[answer.CommandID]
	if c == nil {
		return nil
	}
	c.Running, c.Answer = false, answer
	return m.save()
}

// answered forgets an answer that Kafka has. It does not write the file: sending the answer again after a crash is
// harmless.
func (m *memory) answered(id string) {
	if c := m.index[id]; c != nil {
		c.Answer = nil
	}
}

// keepAnswer is how long after a command's expiry its answer waits for Kafka.
const keepAnswer = 24 * time.Hour

// forget drops the commands that cannot be read again and are answered.
func (m *memory) forget(now schema.Instant) {
	m.content.Commands = slices.DeleteFunc(m.content.Commands, func(c *remembered) bool {
		keep := m.keep
		if c.Answer != nil {
			keep = max(keep, keepAnswer)
		}
		gone := !c.Running && c.Expires.Time().Add(keep).Before(now.Time()) &&
			c.Started.Time().Add(time.Hour).Before(now.Time())
		if gone {
			delete(m.index, c.ID)
			m.content.Since = max(m.content.Since, c.Expires)
		}
		return gone
	})
}

// save replaces the file atomically.
func (m *memory) save() error {
	text, err := json.Marshal(&m.content)
	if err != nil {
		return fmt.Errorf("write the command record: %w", err)
	}
	if err := atomicfile.Write(m.path, text); err != nil {
		return fmt.Errorf("write the command record: %w", err)
	}
	return nil
}
