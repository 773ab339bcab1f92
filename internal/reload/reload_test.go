package reload_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/reload"
)

// Files are loaded when one has changed, at most once a second; a fault is returned once.
func TestRefresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	loads, text := 0, ""
	files := reload.Files{Paths: []string{path, ""}, Load: func() error {
		loads++
		b, err := os.ReadFile(path)
		if string(b) == "invalid" {
			return errors.New("invalid")
		}
		if err == nil {
			text = string(b)
		}
		return err
	}}
	now := time.Unix(0, 0)
	for i, step := range []struct {
		write   string // empty: nothing
		after   time.Duration
		text    string
		loads   int
		changed bool
		fails   bool
	}{
		{"", time.Second, "", 1, false, true},
		{"", time.Second, "", 2, false, false}, // the same fault
		{"one", time.Second, "one", 3, true, false},
		{"", time.Second, "one", 3, false, false},
		{"second", time.Second / 2, "one", 3, false, false}, // too early
		{"", time.Second / 2, "second", 4, true, false},
		{"invalid", time.Second, "second", 5, false, true},
		{"second", time.Second, "second", 6, true, false},
	} {
		if step.write != "" {
			if err := os.WriteFile(path, []byte(step.write), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(step.after)
		changed, err := files.Refresh(now)
		if changed != step.changed || (err != nil) != step.fails || text != step.text || loads != step.loads {
			t.Errorf("step %d: changed %v, error %v, %q after %d loads; want %+v", i, changed, err, text, loads, step)
		}
	}
}
