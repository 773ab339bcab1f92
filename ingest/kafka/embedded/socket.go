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

// socketPath of a broker: in a folder that its user alone may enter.
func socketPath(dir string) string { return filepath.Join(dir, "socket", "broker.sock") }

// serveOthers lets other processes of the same user in until ctx ends. A broker that cannot have a socket, such as
// one whose folder has too long a path, serves its own process alone.
func (b *Broker) serveOthers(ctx context.Context) {
	if b.config.Dir == "" {
		return
	}
	path := socketPath(b.config.Dir)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		if err = os.Remove(path); errors.Is(err, os.ErrNotExist) { // of a process that was killed: the folder is ours
			err = nil
		}
	}
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("unix", path)
	}
	if err != nil {
		b.log.Warn("kafka: embedded broker not reachable for other processes", "socket", path, "error", err)
		return
	}
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			b.log.Warn("kafka: embedded broker no longer reachable for other processes", "socket", path, "error", err)
			return
		}
		if !b.pipes.take(conn) {
			conn.Close()
		}
	}
}

// take hands a connection to the broker.
func (l *pipeListener) take(conn net.Conn) bool {
	select {
	case l.arriving <- conn:
		return true
	case <-l.closed:
		return false
	}
}

// Reach is how a client in another process reaches the broker that runs on the same folder: what its configuration
// becomes, and how it dials.
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
