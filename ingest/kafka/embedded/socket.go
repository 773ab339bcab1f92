package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/giverny/giverny/ingest/kafka"
)

// socketPath returns a broker's socket, in a folder that only its user can enter.
func socketPath(dir string) string { return filepath.Join(dir, "socket", "broker.sock") }

// serveOthers accepts other processes of the same user until ctx ends. A broker that cannot create a socket, for
// example because its path is too long, serves only its own process.
func (b *Broker) serveOthers(ctx context.Context) {
	if b.config.Dir == "" {
		return
	}
	path := socketPath(b.config.Dir)
	listener, err := listen(path)
	if err == nil {
		defer context.AfterFunc(ctx, func() { listener.Close() })()
		err = b.accept(listener)
		listener.Close()
	}
	if ctx.Err() == nil {
		b.log.Warn("kafka: embedded broker not reachable by other processes", "socket", path, "error", err)
	}
}

// listen creates the socket. It replaces one left by a killed process: the folder is locked.
func listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// accept passes connections to the broker until the listener is closed or fails.
func (b *Broker) accept(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		if !b.pipes.take(conn) {
			conn.Close()
		}
	}
}

// take passes a connection to the broker. It returns false if the broker is closed.
func (l *pipeListener) take(conn net.Conn) bool {
	select {
	case l.arriving <- conn:
		return true
	case <-l.closed:
		return false
	}
}

// Reach returns the configuration and the dialer for a client in another process of the broker that runs on the
// same folder.
func Reach(config Config, client kafka.Config) (kafka.Config, kafka.Dial, error) {
	path := socketPath(config.Dir)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	conn, err := dial(context.Background(), "", "")
	if err != nil {
		return client, nil, fmt.Errorf("embedded broker in %s: %w; it runs inside giverny up with this data_dir: start that, or set kafka.embedded: false and kafka.brokers", config.Dir, err)
	}
	return config.client(client), dial, conn.Close()
}
