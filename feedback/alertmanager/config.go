package alertmanager

import (
	"fmt"
	"net/url"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// Config of the alerts. Disabled by default, and a dry run when first enabled.
type Config struct {
	// Send alerts.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be sent, and send nothing.
	DryRun bool `yaml:"dry_run"`
	// The URLs of all members of the cluster, such as http://localhost:9093; each is sent every alert, as Prometheus does.
	URLs []secret.URL `yaml:"urls,flow"`
	// The user for basic authentication; empty: none.
	User string `yaml:"user"`
	// The user's password.
	Password secret.Text `yaml:"password"`
	// A file that holds the password, read for each request.
	PasswordFile string `yaml:"password_file"`
	// The certificate authorities to trust, a PEM file, read again when it changes; empty: the system's.
	CA string `yaml:"ca"`
	// Regions below this severity are not sent: Low, Medium or High.
	MinSeverity notice.LeastSeverity `yaml:"min_severity"`
	// How often alerts are re-sent; an alert that is not re-sent for four times as long resolves.
	Resend time.Duration `yaml:"resend"`
	// How long Alertmanager may take to answer.
	Timeout time.Duration `yaml:"timeout"`
	// The URL of the web page, for the link in alerts.
	PageURL string `yaml:"page_url"`
}

// DefaultConfig is disabled.
func DefaultConfig() Config {
	return Config{DryRun: true, MinSeverity: notice.LeastSeverity(schema.Medium), Resend: time.Minute, Timeout: 10 * time.Second}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(!c.Enabled || len(c.URLs) > 0, "urls", "empty; want http://host:9093")
	for i := range c.URLs {
		u, err := url.Parse(c.URLs[i].Reveal())
		f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", fmt.Sprintf("urls.%d", i), "want http://host:port or https://host:port")
	}
	f.Check(!c.Password.IsSet() || c.PasswordFile == "", "password_file", "both password and password_file; choose one")
	f.Check(c.MinSeverity.Valid(), "min_severity", "%v: want Low, Medium or High", c.MinSeverity)
	f.Check(c.Resend >= time.Second, "resend", "%v: want 1s or more", c.Resend)
	f.Check(c.Timeout > 0, "timeout", "%v: want a positive duration", c.Timeout)
	if c.PageURL != "" {
		u, err := url.Parse(c.PageURL)
		f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https"), "page_url", "%q: want http://host:port/ or https://host:port/", c.PageURL)
	}
	return f.Err()
}
