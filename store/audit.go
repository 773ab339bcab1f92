package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// audited describes a table of what happens outside of intervals: commands, searches, feedback actions. Rows are deduplicated by
// key.
type audited[R any, K comparable] struct {
	table   string
	columns string // SQL for the columns that make up K
	by      string // the column to look rows up by, preferably first in the table's sort order; of is its ClickHouse type
	of      string
	value   func(*R) string // the value of by, as text
	key     func(*R) K
	fields  func(rows []R) []field // without those of complete
}

// askedOf bounds how many rows one query looks up: their values are sent in the request's URL.
const askedOf = 1000

// store inserts rows, each once. It retries until ctx ends.
func (a *audited[R, K]) store(ctx context.Context, db *DB, fabric string, rows []R) error {
	for some := range slices.Chunk(rows, askedOf) {
		if err := a.storeSome(ctx, db, fabric, some); err != nil {
			return err
		}
	}
	return nil
}

// storeSome inserts the rows that the table lacks. Rows that are still missing after an acknowledged insert are sent again with
// another deduplication token, and at last dropped and counted: see storeRows.
func (a *audited[R, K]) storeSome(ctx context.Context, db *DB, fabric string, rows []R) error {
	for again := 0; ; again++ {
		known, err := a.known(ctx, db, fabric, rows)
		if err != nil {
			return err
		}
		rows = unknownRows(rows, known, a.key)
		if len(rows) == 0 {
			return nil
		}
		k := auditKey(fabric, rows, a.key)
		if again > mostRepeats {
			db.writer.dropMissing(a.table, k, len(rows))
			return nil
		}
		k.repeat = again
		if err := db.writer.insert(ctx, a.table, a.complete(db, fabric, rows), k, 0); err != nil {
			return err
		}
	}
}

// complete puts the columns that every audited row has before a table's own.
func (a *audited[R, K]) complete(db *DB, fabric string, rows []R) rowSet {
	n := len(rows)
	return rowSet{n, append([]field{{"fabric", repeat(fabric, n)}, {"stored_at", repeat(db.now(), n)}}, a.fields(rows)...)}
}

// known returns the keys in the table among rows whose by column has a value that occurs in rows.
func (a *audited[R, K]) known(ctx context.Context, db *DB, fabric string, rows []R) (map[K]bool, error) {
	values := make([]string, len(rows))
	for i := range rows {
		values[i] = a.value(&rows[i])
	}
	slices.Sort(values)
	values = slices.Compact(values)
	query := "SELECT DISTINCT " + a.columns + " FROM " + a.table + " WHERE fabric = {fabric:String} AND " + a.by + " IN {values:Array(" + a.of + ")}"
	known := map[K]bool{}
	err := db.writer.retryUntil(ctx, "look into "+a.table, key{fabric: fabric}, func(ctx context.Context) error {
		var keys []K
		if err := db.conn.Select(db.cluster.exact(ctx), &keys, query, clickhouse.Named("fabric", fabric), clickhouse.Named("values", values)); err != nil {
			return err
		}
		for _, k := range keys {
			known[k] = true
		}
		return nil
	})
	return known, err
}

// unknownRows returns the rows whose key is not in known, the first of each key, and adds their keys to known.
func unknownRows[R any, K comparable](rows []R, known map[K]bool, keyOf func(*R) K) (fresh []R) {
	for i := range rows {
		if k := keyOf(&rows[i]); !known[k] {
			known[k] = true
			fresh = append(fresh, rows[i])
		}
	}
	return fresh
}

// auditKey returns the idempotency key for an insert of these rows.
func auditKey[R any, K comparable](fabric string, rows []R, keyOf func(*R) K) key {
	h := sha256.New()
	for i := range rows {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(keyOf(&rows[i])))
	}
	return key{fabric: fabric, start: instant(0), version: binary.LittleEndian.Uint64(h.Sum(nil))}
}
