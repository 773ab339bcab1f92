package chaos

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// Disk is a small tmpfs that can be filled.
type Disk struct {
	Dir   string
	bytes int64
}

// NewDisk creates a folder and mounts a disk on it. It needs permission to mount; Close unmounts.
func NewDisk(dir string, bytes int64) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return nil, fmt.Errorf("disk: mount a tmpfs on %s: %w", dir, err)
	}
	return &Disk{dir, bytes}, nil
}

// Close unmounts the disk even if files are open.
func (d *Disk) Close() error { return syscall.Unmount(d.Dir, syscall.MNT_DETACH) }

// resize changes the size of the file system; never below its usage.
func (d *Disk) resize(bytes int64) error {
	return syscall.Mount("tmpfs", d.Dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}

// Used returns the bytes in use.
func (d *Disk) Used() (bytes int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize, nil
}

// fillTries bounds the attempts to fill a file system that others write to.
const fillTries = 20

// Full is the fault of a full disk.
type Full struct {
	Of   string // whose
	Disk *Disk
}

// Name describes the fault.
func (f Full) Name() string { return "disk full: " + f.Of }

// Inject shrinks the disk to its usage.
func (f Full) Inject(context.Context) error {
	var err error
	for range fillTries {
		var used int64
		if used, err = f.Disk.Used(); err != nil {
			return err
		}
		if err = f.Disk.resize(max(used, int64(os.Getpagesize()))); err == nil {
			return nil
		}
	}
	return err
}

// Heal restores the size.
func (f Full) Heal(context.Context) error { return f.Disk.resize(f.Disk.bytes) }
