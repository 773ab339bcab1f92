package store

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/schema"
)

// fabricState is what the writer knows of a fabric.
type fabricState struct {
	mu sync.Mutex // held while an interval of the fabric is stored
	// last is the start of the last interval that was stored completely and in
	// order, so that no rows of a later one can exist; zero: unknown.
	last time.Time
}

// Store stores the results of one interval exactly once and returns when all
// are stored, however often it is called with them and wherever an earlier call
// was interrupted. It retries until ctx ends; only a result that no table can
// hold is rejected immediately.
//
// Each insert carries a deduplication token made of the key, so that the server recognises repetitions; the row in
// `intervals` is written last and makes the interval visible, replacing its earlier revisions. The server forgets
// tokens after a while. So for a fabric's first interval, and for one that is not later than the one before, Store
// also looks in the tables for rows that are there.
func (db *DB) Store(ctx context.Context, r *schema.IntervalResult) error {
	if err := validate(r); err != nil {
		return err
	}
	began := db.now()
	k := keyOf(r)
	f := db.fabricState(k.fabric)
	f.mu.Lock()
	defer f.mu.Unlock()

	fresh := !f.last.IsZero() && k.start.After(f.last)
	f.last = time.Time{} // until this one is stored completely
	if !fresh {
		stored, err := db.writer.countRows(ctx, marker.name, marker.keyColumn, k)
		if err != nil {
			return err
		}
		if stored > 0 {
			db.metrics.intervals.WithLabelValues(resultAlready).Inc()
			return nil
		}
	}
	meta := rowMeta{key: k, storedAt: db.now()}
	for _, t := range tables {
		present := 0
		if !fresh {
			var err error
			if present, err = db.writer.countRows(ctx, t.name, t.keyColumn, k); err != nil {
				return err
			}
		}
		if err := db.writer.storeRows(ctx, &t, t.rowsOf(r, meta, db.metrics), k, present, !fresh); err != nil {
			return err
		}
	}
	for _, t := range facts {
		rows := t.rowsOf(r, meta, db.metrics)
		if err := db.writer.storeRows(ctx, &t, rows, k.ofContent(rows), 0, !fresh); err != nil {
			return err
		}
	}
	meta.storedAt = db.now()
	if err := db.writer.storeRows(ctx, &marker, marker.rowsOf(r, meta, db.metrics), k, 0, !fresh); err != nil {
		return err
	}
	f.last = k.start
	db.metrics.intervals.WithLabelValues(resultStored).Inc()
	db.metrics.storeSeconds.Observe(db.now().Sub(began).Seconds())
	if first := r.Snapshot.FirstReadNanos; first != 0 {
		db.metrics.readToStored.Observe(meta.storedAt.Sub(instant(first)).Seconds())
	}
	return nil
}

// Forget makes Store look in the tables for a fabric's next interval: another
// process may have stored some intervals, or parts of one, since this one did.
func (db *DB) Forget(fabric string) {
	f := db.fabricState(fabric)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Time{}
}

func (db *DB) fabricState(fabric string) *fabricState {
	db.mu.Lock()
	defer db.mu.Unlock()
	f := db.fabrics[fabric]
	if f == nil {
		f = &fabricState{}
		db.fabrics[fabric] = f
	}
	return f
}
