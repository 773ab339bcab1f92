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

	"github.com/giverny/giverny/internal/sqlquote"
)

//go:embed sql/0*.sql
var migrationFiles embed.FS

// Migration is one numbered step of the schema.
type Migration struct {
	Version   int
	Name      string
	AppliedAt time.Time // zero: not applied
	// Fault is why the step blocks Migrate; empty if it does not.
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

// splitStatements splits a file at lines that end in a semicolon.
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

const migrationsName = "giverny_migrations"

// Migrate creates the database if there is none and brings its tables up to date.
// ClickHouse has no transactional DDL: a step is recorded once all its statements
// have run, and each statement is idempotent. So the next Migrate completes one
// that was interrupted, and two concurrent ones do no harm.
//
// In a cluster every statement runs on all hosts, and hosts that have joined
// since get the tables that they lack.
func (db *DB) Migrate(ctx context.Context) error {
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := db.applySteps(ctx, steps); err != nil {
		return err
	}
	return db.widenRetention(ctx)
}

// applySteps applies the steps that the database does not have yet.
func (db *DB) applySteps(ctx context.Context, steps []Migration) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(db.ddlSettings()))
	if err := db.prepareDatabase(ctx); err != nil {
		return err
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
	return nil
}

// ddlTimeout is how long a statement waits for all hosts of a cluster.
const ddlTimeout = 3 * time.Minute

// ddlSettings make a statement return once all hosts have executed it, and fail
// if one of them does not.
func (db *DB) ddlSettings() clickhouse.Settings {
	if db.cluster.Name == "" {
		return clickhouse.Settings{"default_table_engine": "MergeTree"}
	}
	return clickhouse.Settings{"alter_sync": 2, "distributed_ddl_task_timeout": int(ddlTimeout / time.Second), "distributed_ddl_output_mode": "throw",
		"insert_quorum": "auto", "insert_quorum_parallel": 0, "select_sequential_consistency": 1}
}

// prepareDatabase creates the database and the table of applied steps if missing,
// and rejects a database of the other kind: one server or cluster.
func (db *DB) prepareDatabase(ctx context.Context) error {
	if err := db.createDatabase(ctx); err != nil {
		return err
	}
	engine, err := db.engineOf(ctx, "fabrics") // created by the first step
	if err != nil {
		return err
	}
	name, distributed := db.cluster.Database, strings.HasPrefix(engine, "Distributed")
	switch {
	case distributed && db.cluster.Name == "":
		return fmt.Errorf("migrate: database %s holds the tables of a cluster: set store.cluster to the cluster's name", name)
	case engine != "" && !distributed && db.cluster.Name != "":
		return fmt.Errorf("migrate: database %s holds the tables of one server, which cannot join cluster %s: name another database in store.url, or drop store.cluster", name, db.cluster.Name)
	}
	if db.cluster.Name != "" {
		if err := db.completeHosts(ctx); err != nil {
			return err
		}
	}
	if engine, err = db.engineOf(ctx, migrationsName); err != nil || engine != "" {
		return err
	}
	if err := db.conn.Exec(ctx, migrationTable(db.cluster)); err != nil {
		return fmt.Errorf("migrate: create the table of applied steps: %w", err)
	}
	return nil
}

// engineOf returns a table's engine with all its clauses; empty if there is no
// such table.
func (db *DB) engineOf(ctx context.Context, table string) (engine string, err error) {
	err = db.conn.QueryRow(ctx, "SELECT any(engine_full) FROM system.tables WHERE database = {database:String} AND name = {name:String}",
		clickhouse.Named("database", db.cluster.Database), clickhouse.Named("name", table)).Scan(&engine)
	if err != nil {
		return "", fmt.Errorf("migrate: read the engine of %s: %w", table, err)
	}
	return engine, nil
}

// createDatabase connects to the default database: connecting to a database
// that does not exist fails.
func (db *DB) createDatabase(ctx context.Context) error {
	name := db.cluster.Database
	opts := *db.opts
	opts.Auth.Database = "default"
	conn, err := clickhouse.Open(&opts)
	if err != nil {
		return fmt.Errorf("store options: %w", err)
	}
	defer conn.Close()
	databases, hosts := "system.databases", uint64(1)
	if db.cluster.Name != "" {
		databases = db.onAllHosts("system.databases")
		if err := conn.QueryRow(ctx, "SELECT count() FROM "+db.onAllHosts("system.one")).Scan(&hosts); err != nil {
			return fmt.Errorf("migrate: count the hosts of cluster %s: %w; its name must be one that system.clusters lists", db.cluster.Name, err)
		}
	}
	var have uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM "+databases+" WHERE name = {name:String}", clickhouse.Named("name", name)).Scan(&have); err != nil {
		return fmt.Errorf("migrate: look for database %s: %w", name, err)
	}
	if have >= hosts {
		return nil
	}
	if err := conn.Exec(ctx, createDatabase(db.cluster)); err != nil {
		return fmt.Errorf("migrate: create database %s: %w", name, err)
	}
	return nil
}

// onAllHosts returns a table expression over a system table of all reachable
// hosts of the cluster.
func (db *DB) onAllHosts(table string) string {
	return "clusterAllReplicas(" + sqlquote.Text(db.cluster.Name) + ", " + table + ")"
}

// completeHosts creates the tables that some hosts of the cluster lack, because
// they joined later. It creates them with their current columns, since a replica
// must have the columns of the others. A later Migrate completes hosts that are
// unreachable now.
func (db *DB) completeHosts(ctx context.Context) error {
	settings := db.ddlSettings()
	settings["skip_unavailable_shards"] = 1
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(settings))
	var lacking []struct {
		Name   string `ch:"name"`
		Create string `ch:"create"`
	}
	err := db.conn.Select(ctx, &lacking, "SELECT name, any(create_table_query) AS create FROM "+db.onAllHosts("system.tables")+
		" WHERE database = {database:String} GROUP BY name HAVING count() < (SELECT count() FROM "+db.onAllHosts("system.one")+")"+
		" ORDER BY any(engine) = 'View', any(engine) = 'Distributed', name", clickhouse.Named("database", db.cluster.Database))
	if err != nil {
		return fmt.Errorf("migrate: compare the tables of cluster %s: %w", db.cluster.Name, err)
	}
	for _, t := range lacking {
		statement, err := recreate(t.Create, t.Name, db.cluster)
		if err == nil {
			err = db.conn.Exec(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("migrate: complete the hosts of cluster %s: %w", db.cluster.Name, err)
		}
		db.log.Info("store: table created on the hosts that lacked it", slog.String("table", t.Name))
	}
	return nil
}

func (db *DB) apply(ctx context.Context, step Migration) error {
	for i, statement := range step.statements {
		rendered, err := render(statement, db.cluster)
		for _, statement := range rendered {
			if err == nil {
				err = db.conn.Exec(ctx, statement)
			}
		}
		if err != nil {
			return fmt.Errorf("migrate: step %04d_%s, statement %d: %w; earlier statements stay applied, and the next migrate resumes here", step.Version, step.Name, i+1, err)
		}
	}
	err := db.conn.Exec(ctx, "INSERT INTO "+migrationsName+" SELECT {version:UInt32}, {name:String}, {checksum:String}, now64(3)",
		clickhouse.Named("version", step.Version), clickhouse.Named("name", step.Name), clickhouse.Named("checksum", step.checksum))
	if err != nil {
		return fmt.Errorf("migrate: record step %04d_%s: %w", step.Version, step.Name, err)
	}
	return nil
}

// MigrationStatus lists the steps that this build knows, and any further steps
// that the database has.
func (db *DB) MigrationStatus(ctx context.Context) ([]Migration, error) {
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	steps, err = db.compareApplied(ctx, steps)
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && codeReasons[exception.Code] == reasonSchema { // no migration has run yet
		return steps, nil
	}
	return steps, err
}

// compareApplied fills in what the database has recorded of the steps, and
// appends the recorded steps that are not in steps.
func (db *DB) compareApplied(ctx context.Context, steps []Migration) ([]Migration, error) {
	var applied []struct {
		Version  uint32    `ch:"version"`
		Name     string    `ch:"name"`
		Checksum string    `ch:"checksum"`
		At       time.Time `ch:"at"`
	}
	err := db.conn.Select(ctx, &applied, "SELECT version, any(name) AS name, any(checksum) AS checksum, min(applied_at) AS at"+
		" FROM "+migrationsName+" GROUP BY version ORDER BY version")
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
