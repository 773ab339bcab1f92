package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockDir takes the data directory for this process until the returned file is
// closed or the process ends. The kernel holds the lock, so none is left behind
// by a crash; but an engine that was killed may take a while to leave, so it
// waits for the one before, up to patience.
func lockDir(dir string, patience time.Duration) (*os.File, error) {
	path := filepath.Join(dir, "giverny.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	const pause = 50 * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || !time.Now().Before(deadline) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		file.Close()
		return nil, fmt.Errorf("data directory %s is in use by process %s: stop that process, or choose another directory", dir, strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = writePID(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	return file, nil
}

// writePID leaves word for whoever finds the directory locked.
func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(file, os.Getpid())
	return err
}
