package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// health is whether the last statement and the last write succeeded: a server that answers but accepts no rows is not ready.
type health struct {
	ready prometheus.Gauge
	// Errors of the last statement and of the last write; pointers to nil if they succeeded.
	statement, write atomic.Pointer[error]
}

var (
	errNotTried    = errors.New("no statement has been tried yet")
	errNotMigrated = errors.New("its tables are not created or brought up to date yet")
)

func newHealth(ready prometheus.Gauge) *health {
	h := &health{ready: ready}
	h.statement.Store(&errNotTried)
	h.write.Store(&errNotMigrated) // Migrate is the first write
	return h
}

// err is the error of the last write or, if that succeeded, of the last statement.
func (h *health) err() error {
	if err := *h.write.Load(); err != nil {
		return err
	}
	return *h.statement.Load()
}

// note records the outcome of a statement. A statement that the caller
// cancelled says nothing about the server.
func (h *health) note(err error) { h.noteIn(&h.statement, err) }

// noteQuery records whether a query was answered; that the server rejects one says nothing about others.
func (h *health) noteQuery(err error) {
	if _, rejected := errors.AsType[*clickhouse.Exception](err); rejected {
		err = nil
	}
	h.note(err)
}

// noteWrite records the outcome of a write, or of a query that belongs to one.
func (h *health) noteWrite(err error) {
	h.noteIn(&h.write, err)
	h.note(err)
}

func (h *health) noteIn(last *atomic.Pointer[error], err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	last.Store(&err)
	if h.err() == nil {
		h.ready.Set(1)
	} else {
		h.ready.Set(0)
	}
}
