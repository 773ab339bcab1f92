package webhook

import (
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// Config of one receiver. Disabled by default, and a dry run when first enabled.
type Config struct {
	// The receiver's name in metrics, logs and the audit, and the name of its folder.
	Name string `yaml:"name"`
	// Send to it.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be sent, and send nothing.
	DryRun bool `yaml:"dry_run"`
	// Where notices are posted to.
	URL secret.URL `yaml:"url"`
	// The key of the signatures (HMAC-SHA256), 16 bytes or more.
	Secret secret.Text `yaml:"secret"`
	// A file that holds the key, read for each notice.
	SecretFile string `yaml:"secret_file"`
	// Regions below this severity are not reported: Low, Medium or High.
	MinSeverity notice.LeastSeverity `yaml:"min_severity"`
	// How long the receiver may take to answer.
	Timeout time.Duration `yaml:"timeout"`
	// How many notices may be sent in a minute; more wait.
	PerMinute int `yaml:"per_minute"`
	// How many notices may wait on disk; beyond that the oldest are dropped.
	MaxQueue int `yaml:"max_queue"`
	// How long a notice may wait before it is dropped.
	MaxAge time.Duration `yaml:"max_age"`
	// TLS for an https URL.
	TLS TLSConfig `yaml:"tls"`
}

// TLSConfig has the authorities that a receiver is verified by, and the client certificate.
type TLSConfig struct {
	// The certificate authorities to trust, a PEM file, read again when it changes; empty: the system's.
	CA string `yaml:"ca"`
	// The client certificate, a PEM file, read again when it changes.
	Cert string `yaml:"cert"`
	// The key of that certificate, a PEM file.
	Key string `yaml:"key"`
}

// files returns the files of the configuration.
func (c *TLSConfig) files() tlsfile.Files { return tlsfile.Files{CA: c.CA, Cert: c.Cert, Key: c.Key} }

// secret reads the secret, which may have been renewed.
func (c *Config) secret() (string, error) {
	secret, err := c.Secret.Or(c.SecretFile)
	if err == nil && len(secret) < leastSecret {
		err = fmt.Errorf("too short: want %d bytes or more", leastSecret)
	}
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	return secret, nil
}

// SetDefaults sets c to the defaults.
func (c *Config) SetDefaults() {
	*c = Config{DryRun: true, MinSeverity: notice.LeastSeverity(schema.Medium), Timeout: 10 * time.Second, PerMinute: 60, MaxQueue: 10_000, MaxAge: 24 * time.Hour}
}

var folderName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// leastSecret is the minimum length of a key, in bytes.
const leastSecret = 16

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(folderName.MatchString(c.Name), "name", "%q: want lower-case letters, digits, _ and -", c.Name)
	f.Check(c.MinSeverity.Valid(), "min_severity", "%v: want Low, Medium or High", c.MinSeverity)
	f.Check(c.Timeout > 0, "timeout", "%v: want a positive duration", c.Timeout)
	f.Check(c.PerMinute >= 1, "per_minute", "%d: want 1 or more", c.PerMinute)
	f.Check(c.MaxQueue >= 1 && c.MaxQueue <= 1_000_000, "max_queue", "%d: want 1 to 1000000", c.MaxQueue)
	f.Check(c.MaxAge > 0, "max_age", "%v: want a positive duration", c.MaxAge)
	files := c.TLS.files()
	f.Under("tls", files.Validate())
	if !c.Enabled {
		return f.Err()
	}
	u, err := url.Parse(c.URL.Reveal())
	f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url", "want http://host/path or https://host/path")
	f.Check(c.Secret.IsSet() != (c.SecretFile != ""), "secret", "want one of secret and secret_file: receivers verify notices with it")
	f.Check(!c.Secret.IsSet() || len(c.Secret.Reveal()) >= leastSecret, "secret", "too short: want %d bytes or more", leastSecret)
	return f.Err()
}
