// Package dirlock lets one process at a time use a folder. The kernel holds the lock, so none is left behind by
// a crash. It works on local file systems.
package dirlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FileName of the lock in the folder. It holds the process id of the one who has it.
const FileName = "giverny.lock"

// pollEvery is how often a folder in use is tried again.
const pollEvery = 50 * time.Millisecond

// Acquire takes a folder for this process until release or the process's end. The folder must exist. A process
// that was killed may take a while to leave, so it waits for the one before, up to patience.
func Acquire(dir string, patience time.Duration) (release func(), err error) {
	path := filepath.Join(dir, FileName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock directory: %w", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || !time.Now().Before(deadline) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		file.Close()
		return nil, fmt.Errorf("directory %s is in use by process %s: stop that process, or choose another directory", dir, strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = writePID(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock directory %s: %w", dir, err)
	}
	return func() { file.Close() }, nil
}

// Holder waits up to patience for a folder to be free, and gives the process id of the one who has it then; empty:
// nobody has, and the folder may not exist.
func Holder(dir string, patience time.Duration) (pid string, err error) {
	path := filepath.Join(dir, FileName)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("lock directory: %w", err)
	}
	defer file.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) // let go by the close
		switch {
		case err == nil:
			return "", nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return "", fmt.Errorf("lock directory %s: %w", dir, err)
		case !time.Now().Before(deadline):
			holder, err := os.ReadFile(path)
			return strings.TrimSpace(string(holder)), err
		}
	}
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(file, os.Getpid())
	return err
}
