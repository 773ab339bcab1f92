package feeds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/giverny/giverny/internal/atomicfile"
)

// Store persists the state of a source, one file per feed.
type Store struct{ path string }

// NewStore returns a store in dir for a feed. It creates no file yet.
func NewStore(dir, feed string) *Store {
	return &Store{filepath.Join(dir, feed+".json")}
}

// Load reads the saved state into v; false if there is none.
func (s *Store) Load(v any) (bool, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("state of the feed in %s: %w; remove the file to start without it", s.path, err)
	}
	return true, nil
}

// Save replaces the saved state atomically.
func (s *Store) Save(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o750); err != nil {
		return err
	}
	return atomicfile.Write(s.path, text)
}
