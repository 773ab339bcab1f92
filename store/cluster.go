package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/sqlquote"
)

// ClusterConfig names where tables are created.
type ClusterConfig struct {
	// Name is the cluster's name in the servers' remote_servers; empty: a single server.
	Name     string
	Database string
}

// replicaPath is the Keeper path and replica name of a shard's table. The servers'
// macros fill in {shard} and {replica}, ClickHouse the rest. It is spelled out
// because the default path contains the table's UUID, which differs between two
// servers that each created the table.
const replicaPath = `'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'`

// shardingKey keeps all rows of a fabric on one shard, so that an insert is one
// block of one table, and a join of two tables needs only one shard.
const shardingKey = "cityHash64(fabric)"

var (
	createTable = regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (\w+)\s*\(`)
	createView  = regexp.MustCompile(`^(CREATE VIEW IF NOT EXISTS|CREATE OR REPLACE VIEW) (\w+) AS\b`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (\w+)\s+`)
	source      = regexp.MustCompile(`\b(ARRAY\s+)?(FROM|JOIN)\s+([a-z_]+)\b`)
)

// render returns the statements that carry out a migration's statement in c: on
// one server, the statement itself. In a cluster each table becomes two: the
// replicated NAME_local on each shard, and the distributed NAME over all shards,
// which queries and inserts use.
func render(statement string, c ClusterConfig) ([]string, error) {
	if c.Name == "" {
		return []string{statement}, nil
	}
	if m := createTable.FindStringSubmatch(statement); m != nil {
		columns, rest, err := cutParentheses(statement[len(m[0])-1:])
		if err != nil {
			return nil, fmt.Errorf("render CREATE TABLE %s for a cluster: %w", m[1], err)
		}
		return []string{
			"CREATE TABLE IF NOT EXISTS " + c.local(m[1]) + c.on() + "\n" + columns + "\nENGINE = ReplicatedMergeTree(" + replicaPath + ")\n" + strings.TrimSpace(rest),
			"CREATE TABLE IF NOT EXISTS " + c.table(m[1]) + c.on() + " AS " + c.local(m[1]) + "\nENGINE = Distributed(" +
				sqlquote.Text(c.Name) + ", " + sqlquote.Text(c.Database) + ", " + sqlquote.Text(localName(m[1])) + ", " + shardingKey + ")",
		}, nil
	}
	if m := createView.FindStringSubmatch(statement); m != nil {
		return []string{m[1] + " " + c.table(m[2]) + c.on() + " AS" + c.qualify(statement[len(m[0]):])}, nil
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		change := statement[len(m[0]):]
		return []string{"ALTER TABLE " + c.local(m[1]) + c.on() + "\n    " + change, "ALTER TABLE " + c.table(m[1]) + c.on() + "\n    " + change}, nil
	}
	return nil, fmt.Errorf("render for a cluster: %.40q is none of CREATE TABLE IF NOT EXISTS, CREATE VIEW IF NOT EXISTS, CREATE OR REPLACE VIEW and ALTER TABLE", statement)
}

// migrationTable returns the statement that creates the table of applied steps. In
// a cluster all hosts are replicas of it, across shards: a step runs on all of
// them.
func migrationTable(c ClusterConfig) string {
	const columns = "\n(version UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC'))\n"
	if c.Name == "" {
		return "CREATE TABLE IF NOT EXISTS " + migrationsName + columns + "ORDER BY version SETTINGS non_replicated_deduplication_window = 1000"
	}
	return "CREATE TABLE IF NOT EXISTS " + c.table(migrationsName) + c.on() + columns +
		"ENGINE = ReplicatedMergeTree('/clickhouse/tables/all_shards/{database}/{table}', '{shard}-{replica}')\nORDER BY version"
}

// createDatabase returns the statement that creates the database.
func createDatabase(c ClusterConfig) string {
	return "CREATE DATABASE IF NOT EXISTS " + sqlquote.Name(c.Database) + c.on() + " ENGINE = Atomic"
}

// recreate returns the statement that creates a table on the cluster's hosts that
// lack it, from the current create_table_query of a host that has it
// (system.tables), so that it has all columns added since.
func recreate(createQuery, table string, c ClusterConfig) (string, error) {
	for _, kind := range []string{"TABLE", "VIEW"} {
		for _, name := range []string{c.Database + "." + table, c.table(table)} {
			if rest, ok := strings.CutPrefix(createQuery, "CREATE "+kind+" "+name+" "); ok {
				return "CREATE " + kind + " IF NOT EXISTS " + c.table(table) + c.on() + " " + rest, nil
			}
		}
	}
	return "", fmt.Errorf("make table %s on the hosts that lack it: %.60q is not a statement that can be repeated; create it there manually", table, createQuery)
}

func (c ClusterConfig) on() string {
	if c.Name == "" {
		return ""
	}
	return " ON CLUSTER " + sqlquote.Name(c.Name)
}

func (c ClusterConfig) table(name string) string {
	return sqlquote.Name(c.Database) + "." + sqlquote.Name(name)
}

// local is the table that holds a shard's rows.
func (c ClusterConfig) local(name string) string {
	if c.Name == "" {
		return c.table(name)
	}
	return c.table(localName(name))
}

func localName(table string) string { return table + "_local" }

// qualify prefixes each table that a query reads with the database: the hosts
// of a cluster run the query in a different default database.
func (c ClusterConfig) qualify(query string) string {
	return source.ReplaceAllStringFunc(query, func(text string) string {
		m := source.FindStringSubmatch(text)
		if m[1] != "" { // ARRAY JOIN names a column
			return text
		}
		return m[2] + " " + c.table(m[3])
	})
}

// cutParentheses splits text after the parenthesis that closes its first one.
func cutParentheses(text string) (inside, rest string, err error) {
	depth, quoted := 0, false
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth == 0 {
				return text[:i+1], text[i+1:], nil
			}
		}
	}
	return "", "", errors.New("a parenthesis is not closed")
}

// exact is for reads on which exactly-once storage depends: in a cluster they see
// every acknowledged insert, whichever replica answers.
func (c ClusterConfig) exact(ctx context.Context) context.Context {
	if c.Name == "" {
		return ctx
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"select_sequential_consistency": 1}))
}

// onAllHosts returns a table expression over a system table of all reachable
// hosts of the cluster.
func (c ClusterConfig) onAllHosts(table string) string {
	return "clusterAllReplicas(" + sqlquote.Text(c.Name) + ", " + table + ")"
}

// ddlTimeout is how long a statement waits for all hosts of a cluster.
const ddlTimeout = 3 * time.Minute

// ddlSettings make a statement return once all hosts have executed it, and fail
// if one of them does not.
func (c ClusterConfig) ddlSettings() clickhouse.Settings {
	if c.Name == "" {
		return clickhouse.Settings{"default_table_engine": "MergeTree"}
	}
	return clickhouse.Settings{"alter_sync": 2, "distributed_ddl_task_timeout": int(ddlTimeout / time.Second), "distributed_ddl_output_mode": "throw",
		"insert_quorum": "auto", "insert_quorum_parallel": 0, "select_sequential_consistency": 1}
}
