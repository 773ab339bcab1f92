package ops

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Config is where the HTTP servers listen, and who has access.
type Config struct {
	// Address and port of the page and the API; port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Metrics and profiles.
	Metrics MetricsConfig `yaml:"metrics"`
	// TLS of the page and the API.
	TLS tlsfile.Server `yaml:"tls"`
	// Access.
	Access access.Config `yaml:"access"`
	// Maximum number of connections to the page and the API; further ones wait.
	Connections int `yaml:"connections"`
}

// MetricsConfig is the listener of /metrics and /debug/pprof/, which has no authentication.
type MetricsConfig struct {
	// Address and port; empty: 127.0.0.1:9402, or, if the port of listen is 0, a free port at 127.0.0.1.
	Listen string `yaml:"listen"`
	// Serve profiles to other hosts too.
	Profiles bool `yaml:"profiles"`
}

// DefaultConfig listens only on loopback.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:9401", Access: access.DefaultConfig(), Connections: 1024}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(isAddress(c.Listen), "listen", "%q: want ADDRESS:PORT, such as 127.0.0.1:9401 or :9401", c.Listen)
	f.Check(c.Metrics.Listen == "" || isAddress(c.Metrics.Listen), "metrics.listen", "%q: want ADDRESS:PORT, such as 127.0.0.1:9402 or :9402", c.Metrics.Listen)
	f.Check(c.Connections >= 1, "connections", "%d: want at least 1", c.Connections)
	f.Under("tls", c.TLS.Validate())
	f.Under("access", c.Access.Validate())
	return f.Err()
}

func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	_, portErr := net.LookupPort("tcp", port)
	return err == nil && port != "" && portErr == nil
}

// MetricsAddress is the address of the metrics listener.
func (c *Config) MetricsAddress() string {
	if c.Metrics.Listen != "" {
		return c.Metrics.Listen
	}
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port == "0" {
		return "127.0.0.1:0"
	}
	return "127.0.0.1:9402"
}

// Limits of a client's requests. Handlers of longer responses, streams and profiles, extend them for their connection.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// Serve serves l until ctx is cancelled, then gives running requests up to grace to
// finish. Errors caused by clients are logged at debug level.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, grace time.Duration, log *slog.Logger) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(stop) != nil {
		server.Close()
	}
	<-failed
	return nil
}

// Limit limits l to a number of concurrent connections.
func Limit(l net.Listener, connections int) net.Listener {
	return &limited{Listener: l, free: make(chan struct{}, connections), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	free   chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, release: func() { <-l.free }}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
