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
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
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

// migrator brings the tables of a database up to date. It does not know their rows.
type migrator struct {
	conn      driver.Conn
	opts      *clickhouse.Options // of conn
	cluster   ClusterConfig
	retention Retention
	log       *slog.Logger
	room      uint64 // bytes that must be free on each disk before a table is changed
}

func (db *DB) migrator() *migrator {
	return &migrator{db.conn, db.opts, db.cluster, db.cfg.Retention, db.log, 16 << 20}
}

// ErrNoRoom is returned instead of a change of tables for which a disk has too little free space. ClickHouse rewrites the
// definition of a table with every change; on a full disk it leaves an empty file, with which it does not start again.
var ErrNoRoom = errors.New("the disk of the store is full")

// checkRoom returns ErrNoRoom if a disk is full. A user who may not see the disks has no such check.
func (m *migrator) checkRoom(ctx context.Context) error {
	disks, free := "system.disks", uint64(0)
	if m.cluster.Name != "" {
		disks = m.cluster.onAllHosts(disks)
	}
	err := m.conn.QueryRow(ctx, "SELECT min(unreserved_space) FROM "+disks).Scan(&free)
	if _, rejected := errors.AsType[*clickhouse.Exception](err); rejected {
		return nil
	}
	if err != nil {
		return fmt.Errorf("migrate: look for free space: %w", err)
	}
	if free < m.room {
		return fmt.Errorf("migrate: %w: %d MiB are free, want %d", ErrNoRoom, free>>20, m.room>>20)
	}
	return nil
}

// Migrate creates the database if there is none and brings its tables up to date.
// ClickHouse has no transactional DDL: a step is recorded once all its statements
// have run, and each statement is idempotent. So the next Migrate completes one
// that was interrupted, and two concurrent ones do no harm.
//
// In a cluster every statement runs on all hosts, and hosts that have joined
// since get the tables that they lack. Ready reflects the result.
func (db *DB) Migrate(ctx context.Context) error {
	err := db.migrator().migrate(ctx)
	db.health.noteWrite(err)
	return err
}

func (m *migrator) migrate(ctx context.Context) error {
	steps, err := loadMigrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := m.applySteps(ctx, steps); err != nil {
		return err
	}
	return m.widenRetention(ctx)
}

// applySteps applies the steps that the database does not have yet.
func (m *migrator) applySteps(ctx context.Context, steps []Migration) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(m.cluster.ddlSettings()))
	if err := m.prepareDatabase(ctx); err != nil {
		return err
	}
	steps, err := m.compareApplied(ctx, steps)
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
		if err := m.checkRoom(ctx); err != nil {
			return err
		}
		if err := m.apply(ctx, step); err != nil {
			return err
		}
		m.log.Info("store: migrated", slog.Int("version", step.Version), slog.String("name", step.Name))
	}
	return nil
}

// prepareDatabase creates the database and the table of applied steps if missing,
// and rejects a database of the other kind: one server or cluster.
func (m *migrator) prepareDatabase(ctx context.Context) error {
	if err := m.createDatabase(ctx); err != nil {
		return err
	}
	engine, err := m.engineOf(ctx, "fabrics") // created by the first step
	if err != nil {
		return err
	}
	name, distributed := m.cluster.Database, strings.HasPrefix(engine, "Distributed")
	switch {
	case distributed && m.cluster.Name == "":
		return fmt.Errorf("migrate: database %s holds the tables of a cluster: set store.cluster to the cluster's name", name)
	case engine != "" && !distributed && m.cluster.Name != "":
		return fmt.Errorf("migrate: database %s holds the tables of one server, which cannot join cluster %s: name another database in store.url, or drop store.cluster", name, m.cluster.Name)
	}
	if m.cluster.Name != "" {
		if err := m.completeHosts(ctx); err != nil {
			return err
		}
	}
	if engine, err = m.engineOf(ctx, migrationsName); err != nil || engine != "" {
		return err
	}
	if err := m.conn.Exec(ctx, migrationTable(m.cluster)); err != nil {
		return fmt.Errorf("migrate: create the table of applied steps: %w", err)
	}
	return nil
}

// engineOf returns a table's engine with all its clauses; empty if there is no
// such table.
func (m *migrator) engineOf(ctx context.Context, table string) (engine string, err error) {
	err = m.conn.QueryRow(ctx, "SELECT any(engine_full) FROM system.tables WHERE database = {database:String} AND name = {name:String}",
		clickhouse.Named("database", m.cluster.Database), clickhouse.Named("name", table)).Scan(&engine)
	if err != nil {
		return "", fmt.Errorf("migrate: read the engine of %s: %w", table, err)
	}
	return engine, nil
}

// createDatabase connects to the default database: connecting to a database
// that does not exist fails.
func (m *migrator) createDatabase(ctx context.Context) error {
	name := m.cluster.Database
	opts := *m.opts
	opts.Auth.Database = "default"
	conn, err := clickhouse.Open(&opts)
	if err != nil {
		return fmt.Errorf("store options: %w", err)
	}
	defer conn.Close()
	databases, hosts := "system.databases", uint64(1)
	if m.cluster.Name != "" {
		databases = m.cluster.onAllHosts("system.databases")
		if err := conn.QueryRow(ctx, "SELECT count() FROM "+m.cluster.onAllHosts("system.one")).Scan(&hosts); err != nil {
			return fmt.Errorf("migrate: count the hosts of cluster %s: %w; its name must be one that system.clusters lists", m.cluster.Name, err)
		}
	}
	var have uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM "+databases+" WHERE name = {name:String}", clickhouse.Named("name", name)).Scan(&have); err != nil {
		return fmt.Errorf("migrate: look for database %s: %w", name, err)
	}
	if have >= hosts {
		return nil
	}
	if err := conn.Exec(ctx, createDatabase(m.cluster)); err != nil {
		return fmt.Errorf("migrate: create database %s: %w", name, err)
	}
	return nil
}

// completeHosts creates the tables that some hosts of the cluster lack, because
// they joined later. It creates them with their current columns, since a replica
// must have the columns of the others. A later Migrate completes hosts that are
// unreachable now.
func (m *migrator) completeHosts(ctx context.Context) error {
	settings := m.cluster.ddlSettings()
	settings["skip_unavailable_shards"] = 1
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(settings))
	var lacking []struct {
		Name   string `ch:"name"`
		Create string `ch:"create"`
	}
	err := m.conn.Select(ctx, &lacking, "SELECT name, any(create_table_query) AS create FROM "+m.cluster.onAllHosts("system.tables")+
		" WHERE database = {database:String} GROUP BY name HAVING count() < (SELECT count() FROM "+m.cluster.onAllHosts("system.one")+")"+
		" ORDER BY any(engine) = 'View', any(engine) = 'Distributed', name", clickhouse.Named("database", m.cluster.Database))
	if err != nil {
		return fmt.Errorf("migrate: compare the tables of cluster %s: %w", m.cluster.Name, err)
	}
	for _, t := range lacking {
		statement, err := recreate(t.Create, t.Name, m.cluster)
		if err == nil {
			err = m.conn.Exec(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("migrate: complete the hosts of cluster %s: %w", m.cluster.Name, err)
		}
		m.log.Info("store: table created on the hosts that lacked it", slog.String("table", t.Name))
	}
	return nil
}

func (m *migrator) apply(ctx context.Context, step Migration) error {
	for i, statement := range step.statements {
		rendered, err := render(statement, m.cluster)
		for _, statement := range rendered {
			if err == nil {
				err = m.conn.Exec(ctx, statement)
			}
		}
		if err != nil {
			return fmt.Errorf("migrate: step %04d_%s, statement %d: %w; earlier statements stay applied, and the next migrate resumes here", step.Version, step.Name, i+1, err)
		}
	}
	err := m.conn.Exec(ctx, "INSERT INTO "+migrationsName+" SELECT {version:UInt32}, {name:String}, {checksum:String}, now64(3)",
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
	steps, err = db.migrator().compareApplied(ctx, steps)
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && codeReasons[exception.Code] == reasonSchema { // no migration has run yet
		return steps, nil
	}
	return steps, err
}

// compareApplied fills in what the database has recorded of the steps, and
// appends the recorded steps that are not in steps.
func (m *migrator) compareApplied(ctx context.Context, steps []Migration) ([]Migration, error) {
	var applied []struct {
		Version  uint32    `ch:"version"`
		Name     string    `ch:"name"`
		Checksum string    `ch:"checksum"`
		At       time.Time `ch:"at"`
	}
	err := m.conn.Select(ctx, &applied, "SELECT version, any(name) AS name, any(checksum) AS checksum, min(applied_at) AS at"+
		" FROM "+migrationsName+" GROUP BY version ORDER BY version")
	if err != nil {
		return steps, fmt.Errorf("read the migrations of database %s: %w", m.cluster.Database, err)
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
