package store

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/tlsfile"
)

// Config says how to keep things.
type Config struct {
	// Replicated makes new tables ReplicatedMergeTree, with the path and replica
	// name of the server's macros (default_replica_path, default_replica_name).
	Replicated bool
	Retention  Retention

	// InsertTimeout bounds one try of one statement.
	InsertTimeout time.Duration
	// RetryMin and RetryMax bound the pause between tries, which doubles.
	RetryMin, RetryMax time.Duration
}

// Retention is how long rows are kept, counted from when they were stored, so
// that a replay of old data stays. Zero keeps them for ever.
type Retention struct {
	Samples time.Duration // values of links
	Raw     time.Duration // readings kept raw
	Regions time.Duration // regions, network states, events
}

const day = 24 * time.Hour

// DefaultConfig keeps samples for 180 days, raw readings for 14 and regions for
// two years.
func DefaultConfig() Config {
	return Config{
		Retention:     Retention{Samples: 180 * day, Raw: 14 * day, Regions: 730 * day},
		InsertTimeout: time.Minute,
		RetryMin:      100 * time.Millisecond,
		RetryMax:      15 * time.Second,
	}
}

// Validate reports every fault at once.
func (c *Config) Validate() error {
	var errs []error
	for _, r := range []struct {
		name string
		ttl  time.Duration
	}{{"samples", c.Retention.Samples}, {"raw", c.Retention.Raw}, {"regions", c.Retention.Regions}} {
		if r.ttl < 0 || r.ttl%time.Second != 0 {
			errs = append(errs, fmt.Errorf("retention.%s is %v: want whole seconds, or 0 to keep rows for ever", r.name, r.ttl))
		}
	}
	if c.InsertTimeout <= 0 {
		errs = append(errs, fmt.Errorf("insert timeout is %v: want a positive duration", c.InsertTimeout))
	}
	if c.RetryMin <= 0 || c.RetryMax < c.RetryMin {
		errs = append(errs, fmt.Errorf("retry pauses are %v to %v: want a positive duration and a longer one", c.RetryMin, c.RetryMax))
	}
	return errors.Join(errs...)
}

// Deps are what a DB works with. All are required.
type Deps struct {
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// ServerConfig names a ClickHouse server or cluster.
type ServerConfig struct {
	// URL is clickhouse://user:password@host:9000,host:9000/database, or http://
	// or https:// for the HTTP interface; ?secure=true asks for TLS.
	URL string
	// Password, if not empty, replaces that of the URL: secrets arrive by the
	// environment.
	Password string
	// CAFile, if not empty, holds the PEM certificates that the server's must be
	// signed by, instead of the system's; CertFile and KeyFile are the client's.
	CAFile, CertFile, KeyFile string
}

// Options are the connection options that c describes.
func (c *ServerConfig) Options() (*clickhouse.Options, error) {
	opts, err := clickhouse.ParseDSN(c.URL)
	if err != nil {
		return nil, fmt.Errorf("store url: %w; want clickhouse://user:password@host:9000/giverny", err)
	}
	if c.Password != "" {
		opts.Auth.Password = c.Password
	}
	if opts.Compression == nil {
		opts.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	if c.CAFile == "" && c.CertFile == "" && c.KeyFile == "" {
		return opts, nil
	}
	files := tlsfile.Files{CA: c.CAFile, Cert: c.CertFile, Key: c.KeyFile}
	loaded, err := files.Load()
	if err != nil {
		return nil, fmt.Errorf("store.%w", err)
	}
	if opts.TLS == nil {
		opts.TLS = loaded
		return opts, nil
	}
	if loaded.RootCAs != nil {
		opts.TLS.RootCAs = loaded.RootCAs
	}
	opts.TLS.Certificates = loaded.Certificates
	return opts, nil
}
