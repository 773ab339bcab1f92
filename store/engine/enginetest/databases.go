package enginetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/store/engine"
)

// Databases is a pool of an engine's databases for tests that do not change the schema:
// creating the tables takes longer than most tests, emptying them a tenth of that.
type Databases struct {
	mu   sync.Mutex // guards free and made
	free []string
	made int
}

// Lend returns an empty database with all tables, for exclusive use until the test ends;
// migrate creates the tables of a new one.
func (d *Databases) Lend(tb testing.TB, e *engine.Engine, migrate func(name string)) (name string) {
	tb.Helper()
	name, isNew := d.take()
	if isNew {
		migrate(name)
	}
	conn := Connect(tb, e, name)
	tb.Cleanup(func() {
		if err := Empty(context.WithoutCancel(tb.Context()), conn, name); err != nil {
			tb.Errorf("empty database %s: %v", name, err)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.free = append(d.free, name)
	})
	return name
}

func (d *Databases) take() (name string, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.free) - 1; last >= 0 {
		name, d.free = d.free[last], d.free[:last]
		return name, false
	}
	d.made++
	return fmt.Sprint("lent_", d.made), true
}

// Empty truncates all tables that have rows, except the table of applied migrations.
func Empty(ctx context.Context, conn driver.Conn, database string) error {
	var filled []struct {
		Name string `ch:"name"`
	}
	err := conn.Select(ctx, &filled,
		"SELECT DISTINCT table AS name FROM system.parts WHERE active AND database = {database:String} AND table != 'giverny_migrations'",
		clickhouse.Named("database", database))
	if err != nil {
		return err
	}
	for _, table := range filled {
		if err := conn.Exec(ctx, "TRUNCATE TABLE "+table.Name); err != nil {
			return err
		}
	}
	return nil
}
