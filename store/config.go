package store

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Config is the configuration of the store.
type Config struct {
	// Name of the ClickHouse cluster in remote_servers, if the servers of the url are a cluster: tables are replicated within each shard and distributed over the shards by fabric. Empty: one server.
	Cluster string `yaml:"cluster"`

	Retention Retention `yaml:",inline"`

	// Pause between two checks for hours to roll up; 0: never roll up, so queries over long spans always read all rows.
	RollUpInterval time.Duration `yaml:"rollup_interval"`

	// How long one attempt of one statement may take.
	InsertTimeout time.Duration `yaml:"insert_timeout"`
	// Back-off after the first failure; it doubles with each further failure.
	RetryMin time.Duration `yaml:"retry_min"`
	// The longest back-off between two attempts.
	RetryMax time.Duration `yaml:"retry_max"`
}

// Retention is how long rows are kept, counted from when they were stored, so
// that replayed old data is kept too. Zero keeps them forever.
type Retention struct {
	// How long values of links are kept; 0: forever.
	Samples time.Duration `yaml:"keep_samples"`
	// How long readings that are not part of a metric are kept; 0: forever.
	Raw time.Duration `yaml:"keep_raw"`
	// How long regions, their diagnoses, network states, events, jobs and failures are kept; 0: forever.
	Regions time.Duration `yaml:"keep_regions"`
	// How long values of links by five minutes are kept; 0: forever.
	Minutes time.Duration `yaml:"keep_minutes"`
	// How long values of links by hours are kept, and the counts by hour of regions and of the network; 0: forever.
	Hours time.Duration `yaml:"keep_hours"`
}

const day = 24 * time.Hour

// DefaultConfig keeps samples for 180 days, raw readings for 14, regions for two
// years, and roll-ups by five minutes for one and by hours for five.
func DefaultConfig() Config {
	return Config{
		Retention:      Retention{Samples: 180 * day, Raw: 14 * day, Regions: 730 * day, Minutes: 365 * day, Hours: 5 * 365 * day},
		RollUpInterval: time.Minute,
		InsertTimeout:  time.Minute,
		RetryMin:       100 * time.Millisecond,
		RetryMax:       15 * time.Second,
	}
}

// Validate reports all faults at once.
func (c *Config) Validate() error {
	var f faults.List
	keep := func(key string, d time.Duration) {
		f.Check(d >= 0 && d%time.Second == 0, key, "%v: want whole seconds, or 0 to keep rows forever", d)
	}
	keep("keep_samples", c.Retention.Samples)
	keep("keep_raw", c.Retention.Raw)
	keep("keep_regions", c.Retention.Regions)
	keep("keep_minutes", c.Retention.Minutes)
	keep("keep_hours", c.Retention.Hours)
	f.Check(c.RollUpInterval >= 0, "rollup_interval", "%v: want a positive duration, or 0 for none", c.RollUpInterval)
	f.Check(c.InsertTimeout > 0, "insert_timeout", "%v: want a positive duration", c.InsertTimeout)
	f.Check(c.RetryMin > 0, "retry_min", "%v: want a positive duration", c.RetryMin)
	f.Check(c.RetryMax >= c.RetryMin, "retry_max", "%v: want at least retry_min, %v", c.RetryMax, c.RetryMin)
	return f.Err()
}

// Deps are the dependencies of a DB. All are required.
type Deps struct {
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// ServerConfig names a ClickHouse server or cluster.
type ServerConfig struct {
	// https://user@host:8443,host:8443/giverny, or http:// without TLS; clickhouse:// for the native protocol is accepted and untested.
	URL secret.URL `yaml:"url"`
	// Replaces the password of the url; better given by the environment or password_file.
	Password secret.Text `yaml:"password"`
	// A file with nothing but the password, instead of password; a newline at its end is removed. A change needs a restart.
	PasswordFile string `yaml:"password_file"`
	// PEM file of the authorities to trust, read again when it changes (over HTTP; the native protocol needs a restart); empty: the system's.
	CAFile string `yaml:"ca"`
	// PEM file of this client's certificate, read again when it changes.
	CertFile string `yaml:"cert"`
	// PEM file of its key.
	KeyFile string `yaml:"key"`
}

// secured adds ?secure=true to https:// URLs, which clickhouse-go requires for
// TLS.
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

// schemes lists the valid URL schemes; clickhouse-go treats any other as the
// native protocol.
var schemes = []string{"https", "http", "clickhouse", "tcp"}

// Options returns the connection options that c describes.
func (c *ServerConfig) Options(log *slog.Logger) (*clickhouse.Options, error) {
	if scheme, _, ok := strings.Cut(c.URL.Reveal(), "://"); !ok || !slices.Contains(schemes, scheme) {
		return nil, fmt.Errorf("url: unknown scheme; want https://user@host:8443/giverny, or one of %s", strings.Join(schemes, ", "))
	}
	opts, err := clickhouse.ParseDSN(secured(c.URL.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("url: %s; want https://user@host:8443/giverny", c.withoutSecrets(err))
	}
	password, err := c.Password.Or(c.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("password_file: %w", err)
	}
	if password != "" {
		opts.Auth.Password = password
	}
	if opts.Compression == nil {
		opts.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	if c.CAFile == "" && c.CertFile == "" && c.KeyFile == "" {
		return opts, nil
	}
	files := tlsfile.Files{CA: c.CAFile, Cert: c.CertFile, Key: c.KeyFile}
	connections, err := tlsfile.NewClient(files, log)
	if err != nil {
		return nil, err
	}
	loaded := connections.Config()
	if opts.TLS == nil || !opts.TLS.InsecureSkipVerify {
		opts.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return connections.Use(t), nil }
	}
	if opts.TLS == nil {
		opts.TLS = loaded
		return opts, nil
	}
	if loaded.RootCAs != nil {
		opts.TLS.RootCAs = loaded.RootCAs
	}
	opts.TLS.Certificates, opts.TLS.GetClientCertificate = loaded.Certificates, loaded.GetClientCertificate
	return opts, nil
}

// withoutSecrets returns the error's text without the URL: URL parsers quote
// it, password included.
func (c *ServerConfig) withoutSecrets(err error) string {
	if !c.URL.IsSet() {
		return err.Error()
	}
	return "it cannot be parsed"
}
