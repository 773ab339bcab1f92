package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// socketLink is the name of the symbolic link in a data directory to the socket of the engine that has it open. Only
// the user that started the engine can enter the socket's directory.
const socketLink = "engine.socket"

// publish creates the link. It replaces one left by a killed process: the data directory is locked.
func publish(dataDir, socket string) (withdraw func(), err error) {
	link := filepath.Join(dataDir, socketLink)
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.Symlink(socket, link); err != nil {
		return nil, err
	}
	return func() { os.Remove(link) }, nil
}

// Reach returns options for connections to the engine that another process has open on a data directory, or an error if
// there is none. Each new connection follows the link, so that they survive a restart of that process.
func Reach(dataDir, database string) (*clickhouse.Options, error) {
	const timeout = 5 * time.Second
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		socket, err := os.Readlink(filepath.Join(dataDir, socketLink))
		if err != nil {
			return nil, err
		}
		return dialUnix(ctx, socket)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := dial(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("reach the engine of %s: %w", dataDir, err)
	}
	return options(database, dial, timeout), conn.Close()
}

func dialUnix(ctx context.Context, socket string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", socket)
}

// options returns the options of a clickhouse-go connection to an engine. Send deduplication tokens by
// clickhouse.WithSettings: PrepareBatch removes a SETTINGS clause from the statement.
func options(database string, dial func(ctx context.Context, address string) (net.Conn, error), timeout time.Duration) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{"localhost"}, // a name for which no HTTP proxy is used
		Auth:        clickhouse.Auth{Database: database},
		DialContext: dial,
		DialTimeout: timeout,
	}
}
