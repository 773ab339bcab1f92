package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/schema"
)

// rowsPerInsert limits the rows of one statement, so that it is one block and
// one part on the server: stored atomically.
const rowsPerInsert = 100_000

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
		stored, err := db.countRows(ctx, marker.name, marker.keyColumn, k)
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
			if present, err = db.countRows(ctx, t.name, t.keyColumn, k); err != nil {
				return err
			}
		}
		if err := db.storeRows(ctx, &t, t.rowsOf(r, meta, db.metrics), k, present, !fresh); err != nil {
			return err
		}
	}
	for _, t := range facts {
		rows := t.rowsOf(r, meta, db.metrics)
		if err := db.storeRows(ctx, &t, rows, k.ofContent(rows), 0, !fresh); err != nil {
			return err
		}
	}
	meta.storedAt = db.now()
	if err := db.storeRows(ctx, &marker, marker.rowsOf(r, meta, db.metrics), k, 0, !fresh); err != nil {
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

// mostRepeats is how often rows that are missing after their insert are sent again. An engine that died once needs one repeat. Rows
// that are still missing then are removed as they come, for example by a TTL that an operator gave the table: they are dropped and
// counted, as the interval would otherwise never end.
const mostRepeats = 2

// storeRows inserts the rows of one table and interval (or graph) in chunks, and skips those that are stored already: chunks
// are atomic and inserted in order, so the number of rows present tells which are missing.
//
// If a statement may have been sent before, storeRows counts the rows afterwards. An engine without replicas stores the
// deduplication token of an insert before its rows. If it crashes between the two, it takes the repeated insert for a
// duplicate and acknowledges rows that it does not have. Missing rows are therefore sent with another token.
func (db *DB) storeRows(ctx context.Context, t *table, rows rowSet, k key, present int, doubtful bool) error {
	for ; ; k.repeat++ {
		first := (present + rowsPerInsert - 1) / rowsPerInsert
		for chunk := first; chunk*rowsPerInsert < rows.n; chunk++ {
			part := rows.slice(chunk*rowsPerInsert, min((chunk+1)*rowsPerInsert, rows.n))
			tries, err := db.send(ctx, t.name, part, k, chunk)
			if err != nil {
				return err
			}
			doubtful = doubtful || tries > 1
		}
		if !doubtful {
			return nil
		}
		var err error
		if present, err = db.countRows(ctx, t.name, t.keyColumn, k); err != nil || present >= rows.n {
			return err
		}
		if k.repeat == mostRepeats {
			db.dropMissing(t.name, k, rows.n-present)
			return nil
		}
	}
}

// dropMissing counts rows that the server acknowledged and does not have after mostRepeats repeats.
func (db *DB) dropMissing(table string, k key, rows int) {
	db.metrics.rowsDropped.WithLabelValues(reasonMissing).Add(float64(rows))
	db.log.Error("store: rows dropped, they are missing after each acknowledged insert; check the table's TTL and the server's log", slog.String("fabric", k.fabric), k.interval(),
		slog.String("table", table), slog.Int("rows", rows), slog.Int("inserts", mostRepeats+1))
}

// countRows returns the number of rows of an interval in a table; keyColumn is
// the column for the interval's start, empty for the tables of a graph.
func (db *DB) countRows(ctx context.Context, table, keyColumn string, k key) (int, error) {
	query := "SELECT count() FROM " + table + " WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}"
	if keyColumn != "" {
		query += " AND revision = {revision:UInt32} AND " + keyColumn + " = fromUnixTimestamp64Milli({start:Int64}, 'UTC')"
	}
	var n uint64
	err := db.retryUntil(ctx, "look into "+table, k, func(ctx context.Context) error {
		return db.conn.QueryRow(db.exact(ctx), query, clickhouse.Named("fabric", k.fabric), clickhouse.Named("start", k.start.UnixMilli()),
			clickhouse.Named("version", k.version), clickhouse.Named("revision", k.revision)).Scan(&n)
	})
	return int(n), err
}

// insert sends a chunk of rows in one statement and retries until the server has
// them; the token deduplicates the tries.
func (db *DB) insert(ctx context.Context, table string, rows rowSet, k key, chunk int) error {
	_, err := db.send(ctx, table, rows, k, chunk)
	return err
}

// send is insert, and returns how many tries it took.
func (db *DB) send(ctx context.Context, table string, rows rowSet, k key, chunk int) (tries int, err error) {
	settings := clickhouse.WithSettings(db.insertSettings(k.token(table, chunk)))
	statement := "INSERT INTO " + table + " (" + rows.names() + ")"
	err = db.retryUntil(ctx, "insert into "+table, k, func(ctx context.Context) error {
		tries++
		defer db.lockTable(table)()
		batch, err := db.prepare(ctx, statement, rows, settings)
		if err != nil {
			return err
		}
		defer batch.Close()
		for i, f := range rows.fields {
			if err := f.values.appendTo(batch.Column(i)); err != nil {
				return fmt.Errorf("column %s: %w", f.name, err)
			}
		}
		if err = batch.Send(); err != nil {
			db.forgetTypes(statement)
		}
		return err
	})
	if err == nil {
		db.metrics.rows.WithLabelValues(table).Add(float64(rows.n))
	}
	return tries, err
}

// prepare begins an insert. Over HTTP the client first queries the column types, which takes a sixth of the total time:
// they are cached until an insert fails.
func (db *DB) prepare(ctx context.Context, statement string, rows rowSet, settings clickhouse.QueryOption) (driver.Batch, error) {
	db.mu.Lock()
	types := db.types[statement]
	db.mu.Unlock()
	known := len(types) > 0
	options := []clickhouse.QueryOption{settings}
	if known {
		options = append(options, clickhouse.WithColumnNamesAndTypes(types))
	}
	batch, err := db.conn.PrepareBatch(clickhouse.Context(ctx, options...), statement)
	if err != nil || known {
		return batch, err
	}
	for i, c := range batch.Columns() {
		types = append(types, clickhouse.ColumnNameAndType{Name: rows.fields[i].name, Type: string(c.Type())})
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.types[statement] = types
	return batch, nil
}

func (db *DB) forgetTypes(statement string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.types, statement)
}

// insertSettings make an acknowledged insert durable: it is on disk, in a cluster
// on a quorum of the shard's replicas, so that any one of them may be lost.
// Replicas keep tokens in Keeper, so that an insert which is sent again to
// another replica is recognised there.
func (db *DB) insertSettings(token string) clickhouse.Settings {
	s := clickhouse.Settings{"insert_deduplicate": 1, "insert_deduplication_token": token, "async_insert": 0}
	if db.cluster.Name != "" {
		s["insert_quorum"] = "auto"
		s["insert_quorum_parallel"] = 0 // required for sequentially consistent reads
		s["insert_quorum_timeout"] = db.cfg.InsertTimeout.Milliseconds()
	}
	return s
}

// exact is for reads on which exactly-once storage depends: in a cluster they see
// every acknowledged insert, whichever replica answers.
func (db *DB) exact(ctx context.Context) context.Context {
	if db.cluster.Name == "" {
		return ctx
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"select_sequential_consistency": 1}))
}

// lockTable serialises the inserts into a table of a cluster: ClickHouse
// rejects a second one before the first has its quorum.
func (db *DB) lockTable(table string) (unlock func()) {
	if db.cluster.Name == "" {
		return func() {}
	}
	db.mu.Lock()
	lock := db.inserts[table]
	if lock == nil {
		lock = &sync.Mutex{}
		db.inserts[table] = lock
	}
	db.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}
