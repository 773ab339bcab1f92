// Package atomicfile replaces a file's content at once: after a crash or a power cut
// the old content is there or the new one, whole. It knows nothing of the content.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces the file at path, or makes it, readable by its owner alone. When it
// returns nil the content and the name are on disk.
func Write(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
