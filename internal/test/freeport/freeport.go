// Package freeport chooses TCP ports for services that a test starts. Output: ports that are free on every address, and that
// no other test process is given until they are released. They lie below the range from which Linux takes the ports of
// outgoing connections and of listeners on port 0, so that neither takes one before the service has started.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

const (
	lowest  = 20000
	highest = 32767 // ip_local_port_range begins at 32768 (ip(7))
	tries   = 1000
)

// Reserve returns a port. A process that ends without a release loses its reservations too.
func Reserve() (port int, release func(), err error) {
	for range tries {
		port = lowest + rand.IntN(highest-lowest+1)
		var lock, probe net.Listener
		if lock, err = net.Listen("unix", fmt.Sprintf("@giverny-test-port-%d", port)); err != nil { // an abstract name: no file
			continue
		}
		if probe, err = net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			probe.Close()
			return port, func() { lock.Close() }, nil
		}
		lock.Close()
	}
	return 0, nil, fmt.Errorf("no free port from %d to %d in %d tries: %w", lowest, highest, tries, err)
}

// Port returns a port that is reserved until the test ends.
func Port(tb testing.TB) int {
	tb.Helper()
	port, release, err := Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return port
}

// Addr is Port on the loopback address, as host:port.
func Addr(tb testing.TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(tb)))
}
