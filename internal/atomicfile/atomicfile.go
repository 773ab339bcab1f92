// Package atomicfile replaces a file's content at once: after a crash or a power cut
// the old content is there or the new one, whole. It knows nothing of the content.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Private is the mode of what only its owner may read, Public that of what a user asked for: the umask says who may.
const Private, Public fs.FileMode = 0o600, 0o666

// Write replaces the file at path, or makes it, with a mode before the umask. When it returns nil the content and the
// name are on disk.
func Write(path string, content []byte, mode fs.FileMode) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
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
