package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Line is the condition of a proxy's connections. The zero value is perfect.
type Line struct {
	// Cut closes connections and refuses new ones.
	Cut bool
	// Hole drops all data in both directions without closing: a black hole.
	Hole bool
	// Delay is the latency per direction.
	Delay time.Duration
	// BytesPerSecond bounds each direction of a connection; 0: unlimited.
	BytesPerSecond int
}

func (l Line) String() string {
	switch {
	case l.Cut:
		return "cut"
	case l.Hole:
		return "black hole"
	case l.Delay > 0 && l.BytesPerSecond > 0:
		return fmt.Sprintf("%v late, %d kB/s", l.Delay, l.BytesPerSecond>>10)
	case l.Delay > 0:
		return fmt.Sprintf("%v late", l.Delay)
	case l.BytesPerSecond > 0:
		return fmt.Sprintf("%d kB/s", l.BytesPerSecond>>10)
	}
	return "clear"
}

// Proxy is a TCP proxy on loopback whose line can be degraded.
type Proxy struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu      sync.Mutex
	line    Line                  // guarded by mu
	changed chan struct{}         // guarded by mu; closed when line changes
	conns   map[net.Conn]struct{} // guarded by mu
	closed  bool                  // guarded by mu
	wg      sync.WaitGroup
}

// pieceBytes bounds the data passed at once.
const pieceBytes = 16 << 10

// NewProxy returns a proxy for a network and address, such as "tcp", "127.0.0.1:9092". Close ends it.
func NewProxy(network, address string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", address, err)
	}
	p := &Proxy{listener: listener, changed: make(chan struct{}), conns: map[net.Conn]struct{}{},
		dial: func() (net.Conn, error) { return net.DialTimeout(network, address, 5*time.Second) }}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the line.
func (p *Proxy) Set(l Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = l
	close(p.changed)
	p.changed = make(chan struct{})
	if l.Cut {
		p.closeAll()
	}
}

func (p *Proxy) closeAll() {
	for c := range p.conns {
		c.Close()
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	close(p.changed)
	p.changed = make(chan struct{})
	p.closeAll()
	p.mu.Unlock()
	err := p.listener.Close()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(in) })
	}
}

// serve passes one connection's data in both directions.
func (p *Proxy) serve(in net.Conn) {
	defer in.Close()
	if !p.keep(in) {
		return
	}
	defer p.forget(in)
	if !p.passable() {
		return
	}
	out, err := p.dial()
	if err != nil {
		return
	}
	defer out.Close()
	if !p.keep(out) {
		return
	}
	defer p.forget(out)
	var both sync.WaitGroup
	for _, way := range [2][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			p.pass(way[1], way[0])
			in.Close()
			out.Close()
		})
	}
	both.Wait()
}

// keep registers a connection, unless the line is cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.line.Cut {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// pass copies from one side to the other under the line's condition, until either ends. A black hole ends the
// connection: a client that reconnects afterwards replaces TCP's retransmission.
func (p *Proxy) pass(to, from net.Conn) {
	piece := make([]byte, pieceBytes)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !p.passable() {
				return
			}
			if line := p.now(); line.Delay > 0 || line.BytesPerSecond > 0 {
				wait := line.Delay
				if line.BytesPerSecond > 0 {
					wait += time.Duration(n) * time.Second / time.Duration(line.BytesPerSecond)
				}
				time.Sleep(wait)
			}
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return
			}
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

func (p *Proxy) now() Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

// passable waits while the line is a black hole, and reports whether data may pass after it.
func (p *Proxy) passable() bool {
	for {
		p.mu.Lock()
		line, changed, closed := p.line, p.changed, p.closed
		p.mu.Unlock()
		if closed || line.Cut {
			return false
		}
		if !line.Hole {
			return true
		}
		<-changed
	}
}

// Bad is a temporary fault of a line.
type Bad struct {
	Between string // the parties
	Proxy   *Proxy
	Line    Line
}

// Name describes the fault.
func (f Bad) Name() string { return fmt.Sprintf("network %s: %s", f.Between, f.Line) }

// Inject degrades the line.
func (f Bad) Inject(context.Context) error { f.Proxy.Set(f.Line); return nil }

// Heal restores the line.
func (f Bad) Heal(context.Context) error { f.Proxy.Set(Line{}); return nil }
