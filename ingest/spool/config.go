package spool

import "github.com/giverny/giverny/internal/faults"

// Config of a Spool.
type Config struct {
	// Folder of the spool, on a local disk; empty: the folder spool under data_dir.
	Dir string `yaml:"dir"`
	// Bytes that the spool may hold on the disk; beyond that, or when the disk is full, the oldest records are dropped and counted.
	MaxBytes int64 `yaml:"max_bytes"`
	// When records are written through to the disk: never (they survive a crash of the process, not of the machine), segment
	// (once per file) or always (after every record).
	Fsync Fsync `yaml:"fsync"`
}

// Fsync says when records are written through to the disk.
type Fsync string

// When to write through.
const (
	FsyncNever   Fsync = "never"
	FsyncSegment Fsync = "segment"
	FsyncAlways  Fsync = "always"
)

// DefaultConfig lacks a folder.
func DefaultConfig() Config { return Config{MaxBytes: 1 << 30, Fsync: FsyncSegment} }

// Validate joins all faults of the configuration. An empty Dir is none: the process has a folder for it.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.MaxBytes >= minBytes, "max_bytes", "%d: want at least %d (32 MiB)", c.MaxBytes, minBytes)
	f.Check(c.Fsync == FsyncNever || c.Fsync == FsyncSegment || c.Fsync == FsyncAlways, "fsync", "%q: want never, segment or always", c.Fsync)
	return f.Err()
}

// MaxRecordBytes is the length of the longest record that fits.
func (c *Config) MaxRecordBytes() int64 { return c.segmentBytes() - frameBytes }

func (c *Config) segmentBytes() int64 { return c.MaxBytes / segmentsWhole }
