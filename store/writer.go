package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// rowsPerInsert limits the rows of one statement, so that it is one block and
// one part on the server: stored atomically.
const rowsPerInsert = 100_000

// writer inserts rows exactly once, and retries until the server has them. It knows keys and rows, not what they mean.
type writer struct {
	conn    driver.Conn
	cfg     *Config
	cluster ClusterConfig
	log     *slog.Logger
	metrics *metrics
	health  *health

	mu    sync.Mutex                                // guards the fields below
	locks map[string]*sync.Mutex                    // by table; see lockTable
	types map[string][]clickhouse.ColumnNameAndType // column types of inserts, by statement; see prepare
}

func newWriter(db *DB) *writer {
	return &writer{conn: db.conn, cfg: &db.cfg, cluster: db.cluster, log: db.log, metrics: db.metrics, health: db.health,
		locks: map[string]*sync.Mutex{}, types: map[string][]clickhouse.ColumnNameAndType{}}
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
func (w *writer) storeRows(ctx context.Context, t *table, rows rowSet, k key, present int, doubtful bool) error {
	for ; ; k.repeat++ {
		first := (present + rowsPerInsert - 1) / rowsPerInsert
		for chunk := first; chunk*rowsPerInsert < rows.n; chunk++ {
			part := rows.slice(chunk*rowsPerInsert, min((chunk+1)*rowsPerInsert, rows.n))
			tries, err := w.send(ctx, t.name, part, k, chunk)
			if err != nil {
				return err
			}
			doubtful = doubtful || tries > 1
		}
		if !doubtful {
			return nil
		}
		var err error
		if present, err = w.countRows(ctx, t.name, t.keyColumn, k); err != nil || present >= rows.n {
			return err
		}
		if k.repeat == mostRepeats {
			w.dropMissing(t.name, k, rows.n-present)
			return nil
		}
	}
}

// dropMissing counts rows that the server acknowledged and does not have after mostRepeats repeats.
func (w *writer) dropMissing(table string, k key, rows int) {
	w.metrics.rowsDropped.WithLabelValues(reasonMissing).Add(float64(rows))
	w.log.Error("store: rows dropped, they are missing after each acknowledged insert; check the table's TTL and the server's log", slog.String("fabric", k.fabric), k.interval(),
		slog.String("table", table), slog.Int("rows", rows), slog.Int("inserts", mostRepeats+1))
}

// countRows returns the number of rows of an interval in a table; keyColumn is
// the column for the interval's start, empty for the tables of a graph.
func (w *writer) countRows(ctx context.Context, table, keyColumn string, k key) (int, error) {
	query := "SELECT count() FROM " + table + " WHERE fabric = {fabric:String} AND graph_version = {version:UInt64}"
	if keyColumn != "" {
		query += " AND revision = {revision:UInt32} AND " + keyColumn + " = fromUnixTimestamp64Milli({start:Int64}, 'UTC')"
	}
	var n uint64
	err := w.retryUntil(ctx, "look into "+table, k, func(ctx context.Context) error {
		return w.conn.QueryRow(w.cluster.exact(ctx), query, clickhouse.Named("fabric", k.fabric), clickhouse.Named("start", k.start.UnixMilli()),
			clickhouse.Named("version", k.version), clickhouse.Named("revision", k.revision)).Scan(&n)
	})
	return int(n), err
}

// insert sends a chunk of rows in one statement and retries until the server has
// them; the token deduplicates the tries.
func (w *writer) insert(ctx context.Context, table string, rows rowSet, k key, chunk int) error {
	_, err := w.send(ctx, table, rows, k, chunk)
	return err
}

// send is insert, and returns how many tries it took.
func (w *writer) send(ctx context.Context, table string, rows rowSet, k key, chunk int) (tries int, err error) {
	settings := clickhouse.WithSettings(w.insertSettings(k.token(table, chunk)))
	statement := "INSERT INTO " + table + " (" + rows.names() + ")"
	err = w.retryUntil(ctx, "insert into "+table, k, func(ctx context.Context) error {
		tries++
		defer w.lockTable(table)()
		batch, err := w.prepare(ctx, statement, rows, settings)
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
			w.forgetTypes(statement)
		}
		return err
	})
	if err == nil {
		w.metrics.rows.WithLabelValues(table).Add(float64(rows.n))
	}
	return tries, err
}

// prepare begins an insert. Over HTTP the client first queries the column types, which takes a sixth of the total time:
// they are cached until an insert fails.
func (w *writer) prepare(ctx context.Context, statement string, rows rowSet, settings clickhouse.QueryOption) (driver.Batch, error) {
	w.mu.Lock()
	types := w.types[statement]
	w.mu.Unlock()
	known := len(types) > 0
	options := []clickhouse.QueryOption{settings}
	if known {
		options = append(options, clickhouse.WithColumnNamesAndTypes(types))
	}
	batch, err := w.conn.PrepareBatch(clickhouse.Context(ctx, options...), statement)
	if err != nil || known {
		return batch, err
	}
	for i, c := range batch.Columns() {
		types = append(types, clickhouse.ColumnNameAndType{Name: rows.fields[i].name, Type: string(c.Type())})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.types[statement] = types
	return batch, nil
}

func (w *writer) forgetTypes(statement string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.types, statement)
}

// insertSettings make an acknowledged insert durable: it is on disk, in a cluster
// on a quorum of the shard's replicas, so that any one of them may be lost.
// Replicas keep tokens in Keeper, so that an insert which is sent again to
// another replica is recognised there.
func (w *writer) insertSettings(token string) clickhouse.Settings {
	s := clickhouse.Settings{"insert_deduplicate": 1, "insert_deduplication_token": token, "async_insert": 0}
	if w.cluster.Name != "" {
		s["insert_quorum"] = "auto"
		s["insert_quorum_parallel"] = 0 // required for sequentially consistent reads
		s["insert_quorum_timeout"] = w.cfg.InsertTimeout.Milliseconds()
	}
	return s
}

// lockTable serialises the inserts into a table of a cluster: ClickHouse
// rejects a second one before the first has its quorum.
func (w *writer) lockTable(table string) (unlock func()) {
	if w.cluster.Name == "" {
		return func() {}
	}
	w.mu.Lock()
	lock := w.locks[table]
	if lock == nil {
		lock = &sync.Mutex{}
		w.locks[table] = lock
	}
	w.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}

// insertSelected runs an INSERT SELECT that is idempotent: it skips rows that exist.
func (w *writer) insertSelected(ctx context.Context, table, statement string, parameters []any) error {
	settings := w.insertSettings("")
	delete(settings, "insert_deduplication_token")
	maps.Copy(settings, clickhouse.Settings{"max_insert_threads": 1, "max_threads": 1, "parallel_distributed_insert_select": 0})
	if w.cluster.Name != "" {
		settings["select_sequential_consistency"] = 1
	}
	defer w.lockTable(table)()
	if err := w.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), statement, parameters...); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}
