// Package pipes is a network in memory for tests in a synctest bubble, whose clock stands still while a socket waits.
// What is dialled arrives at the listener as the other end of a pipe. It buffers nothing: a write waits for its reader.
package pipes

import (
	"context"
	"net"
	"sync"
)

// Listener hands out the connections that were dialled.
type Listener struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Listen makes a listener.
func Listen() *Listener { return &Listener{arriving: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the listener, whatever the address says: it is the DialContext of an http.Transport, too.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.arriving <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arriving:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends it; connections stay.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr says that it is in memory.
func (l *Listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "in-memory" }
