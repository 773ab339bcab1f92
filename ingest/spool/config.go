package spool

import "github.com/giverny/giverny/internal/faults"

// Config is the configuration of a Spool.
type Config struct {
	// Folder of the spool, on a local disk; empty: the folder spool under data_dir.
	Dir string `yaml:"dir"`
	// Maximum size of the spool on disk in bytes; beyond that, or when the disk is full, the oldest records are dropped and counted.
	MaxBytes int64 `yaml:"max_bytes"`
	// When records are synced to the disk: never (they survive a crash of the process, not of the machine), segment (once
	// per file) or always (after every record).
	Fsync Fsync `yaml:"fsync"`
}

// Fsync says when records are synced to the disk.
type Fsync string

// When to sync.
const (
	FsyncNever   Fsync = "never"
	FsyncSegment Fsync = "segment"
	FsyncAlways  Fsync = "always"
)

// DefaultConfig has no Dir.
func DefaultConfig() Config { return Config{MaxBytes: 1 << 30, Fsync: FsyncSegment} }

// Validate reports all faults of the configuration. An empty Dir is valid: the process has a default.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.MaxBytes >= minBytes, "max_bytes", "%d: want at least %d (32 MiB)", c.MaxBytes, minBytes)
	f.Check(c.Fsync == FsyncNever || c.Fsync == FsyncSegment || c.Fsync == FsyncAlways, "fsync", "%q: want never, segment or always", c.Fsync)
	return f.Err()
}

// MaxRecordBytes is the maximum size of a record.
func (c *Config) MaxRecordBytes() int64 { return c.segmentBytes() - frameBytes }

func (c *Config) segmentBytes() int64 { return c.MaxBytes / segmentsWhole }
