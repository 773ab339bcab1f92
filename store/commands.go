package store

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
)

// StoreCommands keeps commands for the audit, each once by its id and content,
// however often StoreCommands is called with it. It tries until ctx ends. One
// process at a time stores those of a fabric.
func (db *DB) StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error {
	ids := make([]string, len(commands))
	for i := range commands {
		ids[i] = commands[i].ID
	}
	known, err := knownKeys[commandKey](ctx, db, commandsTable, knownCommands, fabric, ids)
	if err != nil {
		return err
	}
	fresh := unknownRows(commands, known, keyOfCommand)
	if len(fresh) == 0 {
		return nil
	}
	return db.insert(ctx, commandsTable, db.commandRows(fabric, fresh), auditKey(fabric, fresh, keyOfCommand), 0)
}

// StoreCommandResults keeps results for the audit, each once by command, agent,
// status and sequence, as StoreCommands does.
func (db *DB) StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error {
	ids := make([]string, len(results))
	for i := range results {
		ids[i] = results[i].CommandID
	}
	known, err := knownKeys[resultKey](ctx, db, resultsTable, knownResults, fabric, ids)
	if err != nil {
		return err
	}
	fresh := unknownRows(results, known, keyOfResult)
	if len(fresh) == 0 {
		return nil
	}
	return db.insert(ctx, resultsTable, db.resultRows(fabric, fresh), auditKey(fabric, fresh, keyOfResult), 0)
}

const (
	commandsTable = "commands"
	resultsTable  = "command_results"
)

var (
	//go:embed sql/known_commands.sql
	knownCommands string
	//go:embed sql/known_results.sql
	knownResults string
)

// commandKey is what a command is stored by once.
type commandKey struct {
	ID     string `ch:"id"`
	Digest uint64 `ch:"digest"`
}

func keyOfCommand(c *schema.SeenCommand) commandKey {
	text, err := json.Marshal(&c.Command)
	if err != nil { // arguments that are no JSON: the audit has decoded them
		panic("store: command " + c.ID + ": " + err.Error())
	}
	sum := sha256.Sum256(text)
	return commandKey{c.ID, binary.LittleEndian.Uint64(sum[:])}
}

// resultKey is what a result is stored by once.
type resultKey struct {
	Command string `ch:"command_id"`
	Agent   string `ch:"agent"`
	Status  string `ch:"status"`
	Number  uint32 `ch:"sequence"`
}

func keyOfResult(r *schema.CommandResult) resultKey {
	return resultKey{r.CommandID, r.Agent, string(r.Status), r.Sequence}
}

// knownKeys are the keys that a table has of some commands.
func knownKeys[K comparable](ctx context.Context, db *DB, table, query, fabric string, ids []string) (map[K]bool, error) {
	known := map[K]bool{}
	err := db.retryUntil(ctx, "look into "+table, key{fabric: fabric}, func(ctx context.Context) error {
		var keys []K
		if err := db.conn.Select(db.exact(ctx), &keys, query, clickhouse.Named("fabric", fabric), clickhouse.Named("ids", ids)); err != nil {
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

func (db *DB) commandRows(fabric string, rows []schema.SeenCommand) rowSet {
	n := len(rows)
	return rowSet{n, []field{
		{"fabric", repeat(fabric, n)},
		{"id", each(rows, func(c *schema.SeenCommand) string { return c.ID })},
		{"digest", each(rows, func(c *schema.SeenCommand) uint64 { return keyOfCommand(c).Digest })},
		{"kind", each(rows, func(c *schema.SeenCommand) string { return c.Kind })},
		{"principal", each(rows, func(c *schema.SeenCommand) string { return c.Principal })},
		{"verified", each(rows, func(c *schema.SeenCommand) string { return c.Verified })},
		{"targets", eachNested(rows, func(c *schema.SeenCommand) []string { return c.Targets })},
		{"arguments", each(rows, func(c *schema.SeenCommand) string { return string(c.Arguments) })},
		{"issued", each(rows, func(c *schema.SeenCommand) time.Time { return c.Issued.Time() })},
		{"expires", each(rows, func(c *schema.SeenCommand) time.Time { return c.Expires.Time() })},
		{"dry_run", each(rows, func(c *schema.SeenCommand) bool { return c.DryRun })},
		{"signature", each(rows, func(c *schema.SeenCommand) string { return string(c.Signature) })},
		{"seen", each(rows, func(c *schema.SeenCommand) time.Time { return c.Seen.Time() })},
		{"stored_at", repeat(db.now(), n)},
	}}
}

func (db *DB) resultRows(fabric string, rows []schema.CommandResult) rowSet {
	n := len(rows)
	return rowSet{n, []field{
		{"fabric", repeat(fabric, n)},
		{"command_id", each(rows, func(r *schema.CommandResult) string { return r.CommandID })},
		{"agent", each(rows, func(r *schema.CommandResult) string { return r.Agent })},
		{"status", each(rows, func(r *schema.CommandResult) string { return string(r.Status) })},
		{"kind", each(rows, func(r *schema.CommandResult) string { return r.Kind })},
		{"sequence", each(rows, func(r *schema.CommandResult) uint32 { return r.Sequence })},
		{"time", each(rows, func(r *schema.CommandResult) time.Time { return r.Time.Time() })},
		{"reason", each(rows, func(r *schema.CommandResult) string { return r.Reason })},
		{"output", each(rows, func(r *schema.CommandResult) string { return string(r.Output) })},
		{"verified", each(rows, func(r *schema.CommandResult) string { return r.Verified })},
		{"stored_at", repeat(db.now(), n)},
	}}
}
