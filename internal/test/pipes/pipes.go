// Package pipes is an in-memory network for tests in a synctest bubble, in which time stops while a real socket waits.
// A dialled connection reaches the listener as the other end of a pipe. It is unbuffered: a write waits for its reader.
package pipes

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the dialled connections.
type Listener struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Listen makes a listener.
func Listen() *Listener { return &Listener{arriving: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the listener, whatever the address; it can be the DialContext of an http.Transport.
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

// Close closes the listener; connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns a placeholder.
func (l *Listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "in-memory" }
