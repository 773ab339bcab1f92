package feeds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"

	"github.com/giverny/giverny/internal/atomicfile"
)

// Store persists the state of a source, one file per feed.
type Store struct{ path string }

// NewStore returns a store in dir for a feed. It creates no file yet.
func NewStore(dir, feed string) *Store {
	return &Store{filepath.Join(dir, feed+".json")}
}

// Load reads the saved state into v, which points to a zero value; false if there is none. A damaged file is moved aside: a
// power failure must not keep the others from running.
func (s *Store) Load(v any, log *slog.Logger) (bool, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state of the feed: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		log.Error("feeds: saved state is damaged, moved aside; rows since it was saved may be read again, or missed", "path", s.path, "error", err)
		reflect.ValueOf(v).Elem().SetZero() // a part may be decoded
		if err := os.Rename(s.path, s.path+".damaged"); err != nil {
			return false, fmt.Errorf("move the damaged state of the feed aside: %w", err)
		}
		return false, nil
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
