package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

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
// last and makes the interval visible, in the place of its earlier revisions. The first interval of a fabric, and any
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

// Forget makes the next interval of a fabric be looked for in the tables: another
// process may have stored some, or parts of one, since this one did.
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

// mostRepeats is how often rows that are not there after their insert are sent once more: more often only those are missing
// that a table's TTL takes at once.
const mostRepeats = 2

// storeRows inserts the rows of one table and interval (or graph) in chunks, without those that are there already: chunks
// are inserted in order and each as a whole, so that the number of rows present says which are missing.
//
// Where a statement may have been sent before, they are counted afterwards. An engine without replicas notes the token of
// an insert before its rows: if it dies between the two, it takes the insert for a repetition, and acknowledges what it does
// not have. So what is missing is sent under another token.
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
		if !doubtful || k.repeat == mostRepeats {
			return nil
		}
		var err error
		if present, err = db.countRows(ctx, t.name, t.keyColumn, k); err != nil || present >= rows.n {
			return err
		}
	}
}

// countRows is the number of rows of an interval in a table, by the table's
// column for the start of the interval; of a graph where it has none.
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

// insert sends a chunk of rows in one statement, again and again until the server
// has them; the token makes it take them once.
func (db *DB) insert(ctx context.Context, table string, rows rowSet, k key, chunk int) error {
	_, err := db.send(ctx, table, rows, k, chunk)
	return err
}

// send is insert, and says how many tries it took.
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

// prepare begins an insert. Over HTTP the client asks for the types of the columns first, a sixth of the time of the whole:
// they are remembered until an insert fails.
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

// insertSettings make an acknowledged insert one that lasts: it is on disk, in a
// cluster on that of most replicas of the shard, so that any one of them may be
// lost. Replicas remember tokens in Keeper, so that an insert which is sent again
// to another of them is recognised there.
func (db *DB) insertSettings(token string) clickhouse.Settings {
	s := clickhouse.Settings{"insert_deduplicate": 1, "insert_deduplication_token": token, "async_insert": 0}
	if db.cluster.Name != "" {
		s["insert_quorum"] = "auto"
		s["insert_quorum_parallel"] = 0 // without it reads cannot be sequentially consistent
		s["insert_quorum_timeout"] = db.cfg.InsertTimeout.Milliseconds()
	}
	return s
}

// exact is for reads on which it rests that nothing is stored twice: in a cluster
// they see every insert that was acknowledged, whichever replica answers.
func (db *DB) exact(ctx context.Context) context.Context {
	if db.cluster.Name == "" {
		return ctx
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"select_sequential_consistency": 1}))
}

// lockTable lets one insert at a time into a table of a cluster: a second one,
// before the first has its quorum, would be refused.
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
