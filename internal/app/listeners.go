package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
)

// Listeners are the sockets of a process: one for the page and the API, one for metrics and profiles.
type Listeners struct{ Web, Metrics net.Listener }

// URL is the address of the page.
func (l *Listeners) URL(tls bool) string {
	if tls {
		return "https://" + l.Web.Addr().String()
	}
	return "http://" + l.Web.Addr().String()
}

// Close closes the sockets that are open.
func (l *Listeners) Close() error { return errors.Join(l.Web.Close(), l.Metrics.Close()) }

// Listen opens the HTTP sockets, so that a port in use is an error before anything
// starts. It fails for an address that other hosts can reach if clients cannot be
// identified.
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

// listenPatience is for how long a long-running role waits for an address that is in use: a process that was killed holds
// its addresses until the kernel has taken its memory back.
const listenPatience = 5 * time.Second

// listenPatiently is Listen for a role that a service manager restarts.
func (p *Process) listenPatiently(ctx context.Context) (*Listeners, error) {
	until, said := time.Now().Add(listenPatience), false
	for {
		l, err := p.Listen()
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(until) {
			return l, err
		}
		if !said {
			p.log.Warn("app: address in use, retrying; a process that is ending may still hold it", "for", listenPatience, "error", err)
			said = true
		}
		if !retry.Sleep(ctx, 200*time.Millisecond) {
			return nil, err
		}
	}
}

func (p *Process) checkAddress() error {
	return faults.At("http", p.cfg.HTTP.Access.CheckAddress(p.cfg.HTTP.Listen, p.cfg.HTTP.TLS.CA != ""))
}

// ListenAnywhere listens on the configured address, or on a free port if it is in use.
func (p *Process) ListenAnywhere() (*Listeners, error) {
	if l, err := p.Listen(); err == nil {
		return l, nil
	}
	p.cfg.HTTP.Listen, p.cfg.HTTP.Metrics.Listen = "127.0.0.1:0", ""
	return p.Listen()
}

// ListenBeside listens on the configured address; for metrics without one it uses a free port if the
// default one is in use by another giverny on this host.
func (p *Process) ListenBeside() (*Listeners, error) {
	l, err := p.Listen()
	if err == nil || p.cfg.HTTP.Metrics.Listen != "" || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	p.cfg.HTTP.Metrics.Listen = "127.0.0.1:0"
	return p.Listen()
}
