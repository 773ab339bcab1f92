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

// Store keeps what a source must know after a restart, a file per feed.
type Store struct{ path string }

// NewStore keeps it in dir, under the name of the feed. It makes no file yet.
func NewStore(dir, feed string) *Store {
	return &Store{filepath.Join(dir, feed+".json")}
}

// Load reads what was saved into v; false if nothing was.
func (s *Store) Load(v any) (bool, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("state of the feed in %s: %w; remove the file to begin without it", s.path, err)
	}
	return true, nil
}

// Save replaces what was saved, whole or not at all.
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
