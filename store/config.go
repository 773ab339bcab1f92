package store

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/tlsfile"
)

// Config says how to keep things.
type Config struct {
	// Cluster is the name of a ClickHouse cluster, as remote_servers of its servers
	// has it. Tables are then replicated within each shard and distributed over the
	// shards by fabric; see docs/how-to/run-on-a-cluster.md. Empty: one server.
	Cluster string `yaml:"cluster"`
	// Replicated is implied by Cluster, and refused without it: replicas of tables
	// that each server made for itself never meet.
	Replicated bool `yaml:"replicated"`

	Retention Retention `yaml:",inline"`

	// InsertTimeout bounds one try of one statement.
	InsertTimeout time.Duration `yaml:"insert_timeout"`
	// RetryMin and RetryMax bound the pause between tries, which doubles.
	RetryMin time.Duration `yaml:"retry_min"`
	RetryMax time.Duration `yaml:"retry_max"`
}

// Retention is how long rows are kept, counted from when they were stored, so
// that a replay of old data stays. Zero keeps them for ever.
type Retention struct {
	Samples time.Duration `yaml:"keep_samples"` // values of links
	Raw     time.Duration `yaml:"keep_raw"`     // readings kept raw
	Regions time.Duration `yaml:"keep_regions"` // regions, network states, events
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
		key  string
		keep time.Duration
	}{{"keep_samples", c.Retention.Samples}, {"keep_raw", c.Retention.Raw}, {"keep_regions", c.Retention.Regions}} {
		if r.keep < 0 || r.keep%time.Second != 0 {
			errs = append(errs, fmt.Errorf("%s is %v: want whole seconds, or 0 to keep rows for ever", r.key, r.keep))
		}
	}
	if c.Replicated && c.Cluster == "" {
		errs = append(errs, errors.New("replicated without cluster: set cluster to the name of the ClickHouse cluster whose servers are the replicas, and leave replicated out"))
	}
	if c.InsertTimeout <= 0 {
		errs = append(errs, fmt.Errorf("insert_timeout is %v: want a positive duration", c.InsertTimeout))
	}
	if c.RetryMin <= 0 || c.RetryMax < c.RetryMin {
		errs = append(errs, fmt.Errorf("retry_min and retry_max are %v and %v: want a positive duration and one that is no shorter", c.RetryMin, c.RetryMax))
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
	// URL is https://user:password@host:8443,host:8443/database, or http:// without
	// TLS. clickhouse:// for the native protocol is accepted and untested.
	URL string
	// Password, if not empty, replaces that of the URL: secrets arrive by the
	// environment.
	Password string
	// CAFile, if not empty, holds the PEM certificates that the server's must be
	// signed by, instead of the system's; CertFile and KeyFile are the client's.
	CAFile, CertFile, KeyFile string
}

// secured asks for TLS where the scheme says so: clickhouse-go refuses https://
// without ?secure=true.
func secured(text string) string {
	_, query, parameters := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil || !strings.HasPrefix(text, "https://") || values.Has("secure"):
		return text
	case parameters:
		return text + "&secure=true"
	}
	return text + "?secure=true"
}

// Options are the connection options that c describes.
func (c *ServerConfig) Options() (*clickhouse.Options, error) {
	opts, err := clickhouse.ParseDSN(secured(c.URL))
	if err != nil {
		return nil, fmt.Errorf("store url: %w; want https://user:password@host:8443/giverny", err)
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
