package store

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

//go:embed sql/0*.sql
var migrationFiles embed.FS

// Migration is one numbered step of the schema.
type Migration struct {
	Version   int
	Name      string
	AppliedAt time.Time // zero: not yet
	// Fault is why the step stands in the way of Migrate; empty if it does not.
	Fault string

	checksum   string // SHA-256 of the file
	statements []string
}

// loadMigrations reads sql/NNNN_name.sql; the numbers run from 1 without gaps.
func loadMigrations(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "sql/0*.sql")
	if err != nil {
		return nil, err
	}
	var steps []Migration
	for i, path := range names {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(path, "sql/"), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", path, i+1)
		}
		sum := sha256.Sum256(text)
		steps = append(steps, Migration{Version: version, Name: name, checksum: hex.EncodeToString(sum[:]), statements: splitStatements(string(text))})
	}
	return steps, nil
}

// splitStatements cuts a file at lines that end in a semicolon.
func splitStatements(text string) []string {
	var statements []string
	var current strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		bare, ended := strings.CutSuffix(strings.TrimRight(line, " \n"), ";")
		current.WriteString(bare + "\n")
		if ended {
			statements = append(statements, strings.TrimSpace(current.String()))
			current.Reset()
		}
	}
	if rest := strings.TrimSpace(current.String()); rest != "" {
		statements = append(statements, rest)
	}
	return statements
}

const migrationTable = `CREATE TABLE IF NOT EXISTS giverny_migrations
(version UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC'))
ORDER BY version SETTINGS non_replicated_deduplication_window = 1000`

// Migrate makes the database if there is none and brings its tables up to date.
// ClickHouse has no transactional DDL: a step is noted once all its statements
// have run, and each statement may run twice, so that a Migrate that was cut off
// is finished by the next one, and two at once do no harm.
func (db *DB) Migrate(ctx context.Context) error {
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		return err
	}
	return db.migrate(ctx, steps)
}

func (db *DB) migrate(ctx context.Context, steps []Migration) error {
	if err := db.createDatabase(ctx); err != nil {
		return err
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"default_table_engine": db.tableEngine()}))
	if err := db.conn.Exec(ctx, migrationTable); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	steps, err := db.compareApplied(ctx, steps)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if step.Fault != "" {
			return fmt.Errorf("migrate: step %04d_%s: %s", step.Version, step.Name, step.Fault)
		}
	}
	for _, step := range steps {
		if !step.AppliedAt.IsZero() {
			continue
		}
		if err := db.apply(ctx, step); err != nil {
			return err
		}
		db.log.Info("store: migrated", slog.Int("version", step.Version), slog.String("name", step.Name))
	}
	return db.applyRetention(ctx)
}

func (db *DB) tableEngine() string {
	if db.cfg.Replicated {
		return "ReplicatedMergeTree"
	}
	return "MergeTree"
}

// createDatabase connects to the default database, since one cannot connect to
// a database that does not exist.
func (db *DB) createDatabase(ctx context.Context) error {
	name := db.opts.Auth.Database
	opts := *db.opts
	opts.Auth.Database = "default"
	conn, err := clickhouse.Open(&opts)
	if err != nil {
		return fmt.Errorf("store options: %w", err)
	}
	defer conn.Close()
	var n uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM system.databases WHERE name = {name:String}", clickhouse.Named("name", name)).Scan(&n); err != nil {
		return fmt.Errorf("migrate: look for database %s: %w", name, err)
	}
	if n > 0 {
		return nil
	}
	if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteName(name)+" ENGINE = Atomic"); err != nil {
		return fmt.Errorf("migrate: create database %s: %w", name, err)
	}
	return nil
}

func quoteName(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

func (db *DB) apply(ctx context.Context, step Migration) error {
	for i, statement := range step.statements {
		if err := db.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("migrate: step %04d_%s, statement %d: %w; what ran before stays, and the next migrate goes on", step.Version, step.Name, i+1, err)
		}
	}
	err := db.conn.Exec(ctx, "INSERT INTO giverny_migrations SELECT {version:UInt32}, {name:String}, {checksum:String}, now64(3)",
		clickhouse.Named("version", step.Version), clickhouse.Named("name", step.Name), clickhouse.Named("checksum", step.checksum))
	if err != nil {
		return fmt.Errorf("migrate: note step %04d_%s: %w", step.Version, step.Name, err)
	}
	return nil
}

// MigrationStatus lists the steps that this build knows and those that the
// database has beyond them.
func (db *DB) MigrationStatus(ctx context.Context) ([]Migration, error) {
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	steps, err = db.compareApplied(ctx, steps)
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && codeReasons[exception.Code] == reasonSchema { // nothing there yet
		return steps, nil
	}
	return steps, err
}

// compareApplied fills in what the database says of the steps, and appends
// those that it has and steps lacks.
func (db *DB) compareApplied(ctx context.Context, steps []Migration) ([]Migration, error) {
	var applied []struct {
		Version  uint32    `ch:"version"`
		Name     string    `ch:"name"`
		Checksum string    `ch:"checksum"`
		At       time.Time `ch:"at"`
	}
	err := db.conn.Select(ctx, &applied, "SELECT version, any(name) AS name, any(checksum) AS checksum, min(applied_at) AS at"+
		" FROM giverny_migrations GROUP BY version ORDER BY version")
	if err != nil {
		return steps, fmt.Errorf("read the migrations of database %s: %w", db.opts.Auth.Database, err)
	}
	for _, a := range applied {
		if int(a.Version) > len(steps) {
			steps = append(steps, Migration{Version: int(a.Version), Name: a.Name, AppliedAt: a.At, Fault: "the database is newer than this giverny: install the version that migrated it, or a later one"})
			continue
		}
		step := &steps[a.Version-1]
		step.AppliedAt = a.At
		if step.checksum != a.Checksum {
			step.Fault = "its file is not the one that was applied: released migrations must not be edited, add a new one"
		}
	}
	return steps, nil
}

// applyRetention gives the tables the time to live of the config.
func (db *DB) applyRetention(ctx context.Context) error {
	keep := db.cfg.Retention
	for _, t := range []struct {
		name string
		ttl  time.Duration
	}{{"link_samples", keep.Samples}, {"raw_counters", keep.Raw}, {"regions", keep.Regions}, {"network_states", keep.Regions}, {"events", keep.Regions}, {statesTable, statesKept}} {
		var engine string
		err := db.conn.QueryRow(ctx, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = {name:String}",
			clickhouse.Named("name", t.name)).Scan(&engine)
		if err != nil {
			return fmt.Errorf("migrate: read the retention of %s: %w", t.name, err)
		}
		clause := fmt.Sprintf("TTL stored_at + toIntervalSecond(%d)", int64(t.ttl/time.Second))
		has := strings.Contains(engine, " TTL ")
		change := ""
		switch {
		case t.ttl == 0 && has:
			change = "REMOVE TTL"
		case t.ttl > 0 && !strings.Contains(engine, clause+" "):
			change = "MODIFY " + clause
		default:
			continue
		}
		if err := db.conn.Exec(ctx, "ALTER TABLE "+t.name+" "+change+" SETTINGS materialize_ttl_after_modify = 0"); err != nil {
			return fmt.Errorf("migrate: set the retention of %s: %w", t.name, err)
		}
	}
	return nil
}
