package store

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// DefaultDatabase is used if the connection options name none.
const DefaultDatabase = "giverny"

// DB is a ClickHouse database with Giverny's tables. It is safe for concurrent
// use; the intervals of one fabric are stored one at a time.
type DB struct {
	opts    *clickhouse.Options
	conn    driver.Conn
	cfg     Config
	cluster ClusterConfig
	log     *slog.Logger
	now     func() time.Time
	metrics *metrics
	reading chan struct{} // semaphore: holds one value per running query

	health *health
	writer *writer

	mu      sync.Mutex // guards fabrics
	fabrics map[string]*fabricState
}

// New prepares a DB without connecting: opts come from the embedded engine or
// from ServerConfig.Options. The database need not exist before Migrate.
func New(opts *clickhouse.Options, cfg Config, deps Deps) (*DB, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("store config: %w", err)
	}
	own := *opts
	own.Auth.Database = cmp.Or(own.Auth.Database, DefaultDatabase)
	own.Settings = maps.Clone(own.Settings)
	if cfg.Cluster != "" {
		own.Settings = withDistributed(own.Settings)
	}
	own.TransportFunc = fenced(own.TransportFunc)
	conn, err := clickhouse.Open(&own)
	if err != nil {
		return nil, fmt.Errorf("store options: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("store metrics: %w", err)
	}
	questions := max(1, conn.Stats().MaxOpenConns-keptForWrites)
	db := &DB{opts: &own, conn: conn, cfg: cfg, cluster: ClusterConfig{Name: cfg.Cluster, Database: own.Auth.Database}, log: deps.Log, now: deps.Now,
		metrics: m, reading: make(chan struct{}, questions), health: newHealth(m.ready), fabrics: map[string]*fabricState{}}
	db.writer = newWriter(db)
	return db, nil
}

// keptForWrites is the number of connections reserved for writes, so that hundreds of clients with queries do not delay
// the analysis.
const keptForWrites = 4

// withDistributed adds the settings for distributed tables. All rows of a fabric
// are on one shard, so joins and subqueries can run locally on it.
func withDistributed(s clickhouse.Settings) clickhouse.Settings {
	if s == nil {
		s = clickhouse.Settings{}
	}
	s["distributed_product_mode"] = "local"
	s["optimize_skip_unused_shards"] = 1
	s["distributed_foreground_insert"] = 1 // acknowledge only when the shard has the rows
	return s
}

// Close closes the connections.
func (db *DB) Close() error { return db.conn.Close() }

// Ready returns nil if the last statement and the last write succeeded, else
// their error: a server that answers but accepts no rows is not ready.
func (db *DB) Ready() error { return db.health.err() }

// Ping checks that the server answers; Ready then reflects the result.
func (db *DB) Ping(ctx context.Context) error {
	err := db.conn.Ping(ctx)
	db.health.note(err)
	return err
}

// CheckReady pings the server and, if it answers, returns Ready.
func (db *DB) CheckReady(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	return db.Ready()
}
