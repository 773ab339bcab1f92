package app

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/giverny/giverny/internal/faults"
)

// Listeners are the sockets of a process: of the page and the API, and of metrics and profiles.
type Listeners struct{ Web, Metrics net.Listener }

// URL is the address of the page.
func (l *Listeners) URL(tls bool) string {
	if tls {
		return "https://" + l.Web.Addr().String()
	}
	return "http://" + l.Web.Addr().String()
}

// Close closes those that are open.
func (l *Listeners) Close() error { return errors.Join(l.Web.Close(), l.Metrics.Close()) }

// Listen opens the HTTP servers' sockets now, so that a port in use is an error
// before anything starts. It refuses an address that others than this host reach
// where nothing says who may ask.
func (p *Process) Listen() (*Listeners, error) {
	if err := p.checkAddress(); err != nil {
		return nil, err
	}
	web, err := net.Listen("tcp", p.cfg.HTTP.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on http.listen: %w; choose another port, or 127.0.0.1:0 for any", err)
	}
	metrics, err := net.Listen("tcp", p.cfg.HTTP.MetricsAddress())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on http.metrics.listen: %w; choose another port, or 127.0.0.1:0 for any", err), web.Close())
	}
	return &Listeners{web, metrics}, nil
}

func (p *Process) checkAddress() error {
	return faults.At("http", p.cfg.HTTP.Access.CheckAddress(p.cfg.HTTP.Listen, p.cfg.HTTP.TLS.CA != ""))
}

// ListenAnywhere takes the configured address, or a free port where it is in use.
func (p *Process) ListenAnywhere() (*Listeners, error) {
	if l, err := p.Listen(); err == nil {
		return l, nil
	}
	p.cfg.HTTP.Listen, p.cfg.HTTP.Metrics.Listen = "127.0.0.1:0", ""
	return p.Listen()
}

// ListenBeside takes the configured address, and for metrics without one a free port where the default
// one is in use: by another giverny on this host.
func (p *Process) ListenBeside() (*Listeners, error) {
	l, err := p.Listen()
	if err == nil || p.cfg.HTTP.Metrics.Listen != "" || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	p.cfg.HTTP.Metrics.Listen = "127.0.0.1:0"
	return p.Listen()
}
