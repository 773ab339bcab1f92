// Package dirlock gives one process at a time exclusive use of a folder, with flock(2), so a crash leaves no
// stale lock. It works on local file systems.
package dirlock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fileName is the name of the lock file. It contains the process ID of the holder.
const fileName = "giverny.lock"

// pollEvery is the interval of retrying a folder in use.
const pollEvery = 50 * time.Millisecond

// Acquire locks a folder for this process until release or exit. The folder must exist. It waits up to
// patience for the previous process, since a killed process may take a while to exit.
func Acquire(dir string, patience time.Duration) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock directory: %w; choose a directory that this user may write to", err)
	}
	err = lock(file, patience)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := readPID(file)
		file.Close()
		return nil, fmt.Errorf("directory %s is in use by process %s: stop that process, or choose another directory", dir, holder)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock directory %s: %w", dir, err)
	}
	_ = writePID(file) // for people only; fails if the disk is full
	return func() { file.Close() }, nil
}

// Holder waits up to patience for a folder to be unlocked, and returns the process ID of its holder if it is not;
// empty: it is unlocked, or does not exist.
func Holder(dir string, patience time.Duration) (pid string, err error) {
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("lock directory: %w", err)
	}
	defer file.Close() // releases the lock if it was acquired
	err = lock(file, patience)
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, err = readPID(file)
	}
	if err != nil {
		return "", fmt.Errorf("lock directory %s: %w", dir, err)
	}
	return pid, nil
}

// lock waits up to patience for the lock; unix.EWOULDBLOCK: it is still held.
func lock(file *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || !time.Now().Before(deadline) {
			return err
		}
	}
}

func readPID(file *os.File) (string, error) {
	text, err := io.ReadAll(file)
	return cmp.Or(strings.TrimSpace(string(text)), "unknown"), err
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(file, os.Getpid())
	return err
}
