package store

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Question is a SELECT statement. Name is the label of its duration metric,
// Parameters are the values of its {name:Type} placeholders, Settings are server
// settings for this statement.
type Question struct {
	Name, SQL  string
	Parameters map[string]any
	Settings   map[string]any
	// Exact reads see every acknowledged write, on any replica.
	Exact bool
}

// ErrNotFound is returned if no such thing is stored.
var ErrNotFound = errors.New("not found in the store")

// Select runs q and scans each row by column name into the `ch` fields of a
// struct; dest is a pointer to a slice of such structs. It does not retry.
func (db *DB) Select(ctx context.Context, q Question, dest any) error {
	named := make([]any, 0, len(q.Parameters))
	for name, value := range q.Parameters {
		named = append(named, clickhouse.Named(name, value))
	}
	settings := clickhouse.Settings{"readonly": 2} // the embedded engine keeps slots for statements without
	maps.Copy(settings, q.Settings)
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(settings))
	if q.Exact {
		ctx = db.cluster.exact(ctx)
	}
	select {
	case db.reading <- struct{}{}:
		defer func() { <-db.reading }()
	case <-ctx.Done():
		return fmt.Errorf("query %s: %w", q.Name, ctx.Err())
	}
	began := db.now()
	defer func() { db.metrics.querySeconds.WithLabelValues(q.Name).Observe(db.now().Sub(began).Seconds()) }()
	err := db.conn.Select(ctx, dest, q.SQL, named...)
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok && exception.Code == codeReadOnly {
		err = fmt.Errorf("%w; queries come with settings: give the account a profile with readonly = 2 instead of 1", err)
	}
	db.health.noteQuery(err)
	if err != nil {
		return fmt.Errorf("query %s: %w", q.Name, err)
	}
	return nil
}
