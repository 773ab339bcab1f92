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

// maxRemembered bounds the commands that an agent remembers. Only known principals get into the memory.
const maxRemembered = 4096

// memory is what an agent knows of commands it has judged, kept in a small file over restarts, so that each
// is carried out once. It holds a command for as long as the agent might read it again. It is for one caller
// at a time.
type memory struct {
	path string
	keep time.Duration // beyond a command's expiry

	content memoryFile
	index   map[string]*remembered
}

type memoryFile struct {
	Version int `json:"version"`
	// Since is from when on this agent remembers all: of commands issued before that it cannot know whether it
	// has carried them out. It grows as commands are forgotten, so that a clock set back brings none again.
	Since    schema.Instant `json:"since"`
	Commands []*remembered  `json:"commands"`
}

// remembered is one command. Without an answer it was running when the file was written.
type remembered struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Expires schema.Instant `json:"expires"`
	Started schema.Instant `json:"started,omitzero"` // where it counts towards the hour
	Running bool           `json:"running,omitempty"`
	// Answer is the last word on the command until Kafka has it.
	Answer *schema.CommandResult `json:"answer,omitempty"`
}

const memoryVersion = 1

var errMemoryFull = fmt.Errorf("%d commands are remembered already; wait until some have expired", maxRemembered)

// openMemory reads the file, or begins one at now. A file that cannot be understood is moved aside, and the
// memory begins at now too: nothing older is carried out then.
func openMemory(path string, keep time.Duration, now schema.Instant) (m *memory, damaged error, err error) {
	m = &memory{path: path, keep: keep, index: map[string]*remembered{}}
	text, err := os.ReadFile(path)
	if err == nil {
		damaged = m.load(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read what commands this agent has carried out: %w", err)
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
		return nil, damaged, fmt.Errorf("folder for what commands this agent has carried out: %w", err)
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

// knows says whether a command was judged before.
func (m *memory) knows(id string) bool { return m.index[id] != nil }

// add remembers a command before it begins; it is on the disk when add returns.
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

// finish puts down how a command ended, before anybody hears of it.
func (m *memory) finish(answer *schema.CommandResult) error {
	c := m.index[answer.CommandID]
	if c == nil {
		return nil
	}
	c.Running, c.Answer = false, answer
	return m.save()
}

// answered forgets an answer that Kafka has. The file is not written for that: to send it once more, after a
// crash, does no harm.
func (m *memory) answered(id string) {
	if c := m.index[id]; c != nil {
		c.Answer = nil
	}
}

// forget drops the commands that cannot come again.
func (m *memory) forget(now schema.Instant) {
	m.content.Commands = slices.DeleteFunc(m.content.Commands, func(c *remembered) bool {
		gone := !c.Running && c.Expires.Time().Add(m.keep).Before(now.Time()) &&
			c.Started.Time().Add(time.Hour).Before(now.Time())
		if gone {
			delete(m.index, c.ID)
			m.content.Since = max(m.content.Since, c.Expires)
		}
		return gone
	})
}

// save replaces the file as a whole.
func (m *memory) save() error {
	text, err := json.Marshal(&m.content)
	if err != nil {
		return fmt.Errorf("remember commands: %w", err)
	}
	if err := atomicfile.Write(m.path, text); err != nil {
		return fmt.Errorf("remember commands: %w", err)
	}
	return nil
}
