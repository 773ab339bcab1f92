package ondemand

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// keptLogs is how many logs of earlier searches a host keeps: a long search's log has a
// few megabytes.
const keptLogs = 100

const logSuffix = ".jsonl"

// makeRoom creates the log folder, and removes the oldest logs if there are too many.
func makeRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("folder for the logs of searches: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+logSuffix))
	if err != nil || len(paths) <= keptLogs {
		return err
	}
	changed := make(map[string]time.Time, len(paths))
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // a removed one counts as the oldest
			changed[path] = info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return changed[a].Compare(changed[b]) })
	var errs []error
	for _, path := range paths[:len(paths)-keptLogs] {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("old log of a search: %w", err))
		}
	}
	return errors.Join(errs...)
}
