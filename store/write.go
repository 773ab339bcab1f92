package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
)

// rowsPerInsert bounds the rows of one statement, so that each is one block and
// one part on the server: stored whole or not at all.
const rowsPerInsert = 100_000

// fabricState is what the writer knows of a fabric.
type fabricState struct {
	mu sync.Mutex // held while an interval of the fabric is stored
	// last is the start of the last interval that was stored in full and in
	// order, so that nothing of a later one can be there; zero: not known.
	last time.Time
}

// Store keeps the results of one interval and returns once they are all there,
// exactly once, however often Store is called with them and wherever an earlier
// call was cut off. It tries until ctx ends; only a result that no table can
// hold is refused at once.
//
// Each table gets its rows by inserts that carry a token made of the key, so
// that the server recognises a repetition; the row in `intervals` is written
// last and makes the interval visible. The first interval of a fabric, and any
// that is not later than the one before, is looked for in the tables as well:
// tokens are forgotten in time.
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
	f.last = time.Time{} // until this one is stored in full
	if !fresh {
		stored, err := db.countRows(ctx, markerTable, "time", k)
		if err != nil {
			return err
		}
		if stored > 0 {
			db.metrics.intervals.WithLabelValues(resultAlready).Inc()
			return nil
		}
	}
	written := stamp{key: k, at: db.now()}
	for _, t := range tables {
		present := 0
		if !fresh {
			var err error
			if present, err = db.countRows(ctx, t.name, t.keyColumn, k); err != nil {
				return err
			}
		}
		if err := db.storeRows(ctx, t.name, t.columns, t.rows(r, written, db.metrics), k, present); err != nil {
			return err
		}
	}
	done := db.now()
	if err := db.insert(ctx, markerTable, markerColumns, markerRow(r, stamp{k, done}), k, 0); err != nil {
		return err
	}
	f.last = k.start
	db.metrics.intervals.WithLabelValues(resultStored).Inc()
	db.metrics.storeSeconds.Observe(db.now().Sub(began).Seconds())
	if first := r.Snapshot.FirstReadNanos; first != 0 {
		db.metrics.readToStored.Observe(done.Sub(instant(first)).Seconds())
	}
	return nil
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

// storeRows inserts the rows of one table and interval (or graph) in chunks,
// without those that are there already: chunks are inserted in order and each as
// a whole, so that the number of rows present tells which.
func (db *DB) storeRows(ctx context.Context, table, columns string, rows rowSet, k key, present int) error {
	first := (present + rowsPerInsert - 1) / rowsPerInsert
	for chunk := first; chunk*rowsPerInsert < rows.n; chunk++ {
		part := rows.slice(chunk*rowsPerInsert, min((chunk+1)*rowsPerInsert, rows.n))
		if err := db.insert(ctx, table, columns, part, k, chunk); err != nil {
			return err
		}
	}
	return nil
}

// countRows is the number of rows of an interval in a table, by the table's
// column for the start of the interval; of a graph where it has none.
func (db *DB) countRows(ctx context.Context, table, keyColumn string, k key) (int, error) {
	query := "SELECT count() FROM " + table + " WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}"
	if keyColumn != "" {
		query += " AND " + keyColumn + " = fromUnixTimestamp64Milli({start:Int64}, 'UTC')"
	}
	var n uint64
	err := db.untilDone(ctx, "look into "+table, k, func(ctx context.Context) error {
		return db.conn.QueryRow(ctx, query, clickhouse.Named("fabric", k.fabric), clickhouse.Named("start", k.start.UnixMilli()),
			clickhouse.Named("version", k.version)).Scan(&n)
	})
	return int(n), err
}

// insert sends a chunk of rows in one statement, again and again until the server
// has them; the token makes it take them once.
func (db *DB) insert(ctx context.Context, table, columns string, rows rowSet, k key, chunk int) error {
	settings := clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplicate": 1, "insert_deduplication_token": k.token(table, chunk),
		"async_insert": 0, // an acknowledged row must be on disk
	})
	err := db.untilDone(ctx, "insert into "+table, k, func(ctx context.Context) error {
		batch, err := db.conn.PrepareBatch(clickhouse.Context(ctx, settings), "INSERT INTO "+table+" ("+columns+")")
		if err != nil {
			return err
		}
		defer batch.Close()
		for i, c := range rows.columns {
			if err := c.appendTo(batch.Column(i)); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		}
		return batch.Send()
	})
	if err == nil {
		db.metrics.rows.WithLabelValues(table).Add(float64(rows.n))
	}
	return err
}
