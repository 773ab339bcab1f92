package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/readonly"
)

// listenForAnalysts opens the socket for analysts' read access to the embedded store, if one
// is configured. Call useStore first.
func (p *Process) listenForAnalysts() error {
	cfg := p.cfg.Store.Analyst
	if p.engine == nil || cfg.Listen == "" {
		return nil
	}
	handler, err := readonly.New(cfg, store.DefaultDatabase, p.engine.DialContext, p.log)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on store.analyst.listen: %w; choose another port", err)
	}
	const connections = 64 // so that analysts cannot take the process's file descriptors
	secured := ops.Limit(l, connections)
	if cfg.TLS.Enabled() {
		reloader, err := tlsfile.NewReloader(cfg.TLS, p.log)
		if err != nil {
			return errors.Join(faults.At("store.analyst.tls", err), l.Close())
		}
		secured = tls.NewListener(secured, reloader.Config())
	}
	p.log.Info("app: analysts may read the store", slog.String("address", l.Addr().String()))
	p.analyst = func(ctx context.Context) error { return ops.Serve(ctx, secured, handler, time.Second, p.log) }
	return nil
}
