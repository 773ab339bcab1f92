package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// audited is a table of what happened outside of intervals: commands, searches, actions of feedback. It has each row once by its
// key, however often that comes.
type audited[R any, K comparable] struct {
	table   string
	columns string // SQL of those that K is read from
	by      string // the column by which rows are looked up, in the table's order if it can be, with the type of its values
	of      string
	value   func(*R) string // of that column, as text
	key     func(*R) K
	rows    func(db *DB, fabric string, rows []R) rowSet
}

// askedOf bounds the rows of which it is asked at once whether the table has them: the question is in the address of a request.
const askedOf = 1000

// store keeps rows, each once. It tries until ctx ends.
func (a *audited[R, K]) store(ctx context.Context, db *DB, fabric string, rows []R) error {
	for some := range slices.Chunk(rows, askedOf) {
		if err := a.storeSome(ctx, db, fabric, some); err != nil {
			return err
		}
	}
	return nil
}

// storeSome inserts those of some rows that the table does not have. What it does not have afterwards either, though the insert was
// acknowledged, is sent once more under another token: see storeRows.
func (a *audited[R, K]) storeSome(ctx context.Context, db *DB, fabric string, rows []R) error {
	for repeat := 0; ; repeat++ {
		known, err := a.known(ctx, db, fabric, rows)
		if err != nil {
			return err
		}
		rows = unknownRows(rows, known, a.key)
		if len(rows) == 0 || repeat > mostRepeats {
			return nil
		}
		k := auditKey(fabric, rows, a.key)
		k.repeat = repeat
		if err := db.insert(ctx, a.table, a.rows(db, fabric, rows), k, 0); err != nil {
			return err
		}
	}
}

// known are the keys that the table has, of rows with a value that some rows have.
func (a *audited[R, K]) known(ctx context.Context, db *DB, fabric string, rows []R) (map[K]bool, error) {
	values := make([]string, len(rows))
	for i := range rows {
		values[i] = a.value(&rows[i])
	}
	slices.Sort(values)
	values = slices.Compact(values)
	query := "SELECT DISTINCT " + a.columns + " FROM " + a.table + " WHERE fabric = {fabric:String} AND " + a.by + " IN {values:Array(" + a.of + ")}"
	known := map[K]bool{}
	err := db.retryUntil(ctx, "look into "+a.table, key{fabric: fabric}, func(ctx context.Context) error {
		var keys []K
		if err := db.conn.Select(db.exact(ctx), &keys, query, clickhouse.Named("fabric", fabric), clickhouse.Named("values", values)); err != nil {
			return err
		}
		for _, k := range keys {
			known[k] = true
		}
		return nil
	})
	return known, err
}

// unknownRows are the rows whose key is new, the first of each; known grows by them.
func unknownRows[R any, K comparable](rows []R, known map[K]bool, keyOf func(*R) K) (fresh []R) {
	for i := range rows {
		if k := keyOf(&rows[i]); !known[k] {
			known[k] = true
			fresh = append(fresh, rows[i])
		}
	}
	return fresh
}

// auditKey makes an insert of these rows recognisable.
func auditKey[R any, K comparable](fabric string, rows []R, keyOf func(*R) K) key {
	h := sha256.New()
	for i := range rows {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(keyOf(&rows[i])))
	}
	return key{fabric: fabric, start: instant(0), version: binary.LittleEndian.Uint64(h.Sum(nil))}
}
