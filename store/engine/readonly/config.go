// Package readonly lets an analyst's ClickHouse HTTP client query the embedded engine:
// it checks each request and forwards it to the engine as one that can only read the
// database's own tables, within limits. It writes nothing, and listens only where
// configured.
package readonly

import (
	"net"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Config says where analysts may query the embedded engine, and how much.
type Config struct {
	// Address such as 127.0.0.1:8123 at which ClickHouse HTTP clients may read the embedded store; empty: none. One that is not loopback needs a password and TLS.
	Listen string `yaml:"listen"`
	// User name of clients.
	User string `yaml:"user"`
	// Their password; better given by the environment or password_file.
	Password secret.Text `yaml:"password"`
	// A file with nothing but the password, instead of password; a newline at its end is removed. A change needs a restart.
	PasswordFile string `yaml:"password_file"`
	// TLS of the listener.
	TLS tlsfile.Server `yaml:"tls"`
	// How long a query may run.
	Timeout time.Duration `yaml:"timeout"`
	// Memory of a query, in bytes.
	MaxMemoryBytes int64 `yaml:"max_memory_bytes"`
	// Maximum size of a result in bytes, before formatting.
	MaxResultBytes int64 `yaml:"max_result_bytes"`
	// Maximum number of queries at once; further ones are refused. They count towards store.engine.max_queries.
	MaxQueries int `yaml:"max_queries"`
}

// DefaultConfig does not listen.
func DefaultConfig() Config {
	return Config{User: "analyst", Timeout: 30 * time.Second, MaxMemoryBytes: 512 << 20, MaxResultBytes: 256 << 20, MaxQueries: 2}
}

// Validate reports all faults at once.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Timeout >= time.Second, "timeout", "%v: want a second or more", c.Timeout)
	f.Check(c.MaxMemoryBytes > 0, "max_memory_bytes", "%d: want more than 0", c.MaxMemoryBytes)
	f.Check(c.MaxResultBytes > 0, "max_result_bytes", "%d: want more than 0", c.MaxResultBytes)
	f.Check(c.MaxQueries > 0, "max_queries", "%d: want 1 or more", c.MaxQueries)
	f.Under("tls", c.TLS.Validate())
	if c.Listen == "" {
		return f.Err()
	}
	host, _, err := net.SplitHostPort(c.Listen)
	f.Check(err == nil, "listen", "%q: want an address and a port, such as 127.0.0.1:8123", c.Listen)
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		f.Check(c.protected(), "password", "listen is not loopback: set a password, or password_file")
		f.Check(c.TLS.Enabled(), "tls.cert", "listen is not loopback: name a certificate and its key, so that the password is not sent in the clear")
	}
	return f.Err()
}

// protected reports whether clients need a password.
func (c *Config) protected() bool { return c.Password.IsSet() || c.PasswordFile != "" }
