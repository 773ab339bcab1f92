package demo

import (
	"fmt"
	"syscall"
)

const (
	// startBytes must be free at the start: one play of the demo's 90 seconds writes about 20 MB.
	startBytes = 64 << 20
	// reserveBytes must stay free: the broker and the engine retry writes to a full disk forever, and the engine
	// reserves 1 MB for each insert.
	reserveBytes = 8 << 20
)

// CheckRoom fails if a folder has too little room for the data of a play.
func CheckRoom(dir string) error { return checkRoom(dir, startBytes, freeBytes) }

// freeBytes is how much a user can still write to a directory.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// checkRoom fails if free reports less than need bytes in a directory. If free fails, there is no error.
func checkRoom(dir string, need uint64, free func(dir string) (uint64, error)) error {
	left, err := free(dir)
	if err != nil || left >= need {
		return nil
	}
	return fmt.Errorf("disk full: %s has %d MB free and the demo needs %d MB; free some space, or choose another directory with --keep or TMPDIR", dir, left>>20, uint64(startBytes)>>20)
}
