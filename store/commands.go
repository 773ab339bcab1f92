package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/giverny/giverny/schema"
)

// StoreCommands stores commands for the audit, each once by id and content,
// however often it is called with them. It retries until ctx ends. Only one
// process at a time may store the commands of a fabric.
func (db *DB) StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error {
	return auditedCommands.store(ctx, db, fabric, commands)
}

// StoreCommandResults stores results for the audit, each once by command,
// agent, status and sequence, in the same way as StoreCommands.
func (db *DB) StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error {
	return auditedResults.store(ctx, db, fabric, results)
}

const (
	commandsTable = "commands"
	resultsTable  = "command_results"
)

var auditedCommands = audited[schema.SeenCommand, commandKey]{table: commandsTable, columns: "id, digest", by: "id", of: "String",
	value: func(c *schema.SeenCommand) string { return c.ID }, key: keyOfCommand, fields: commandFields}

var auditedResults = audited[schema.CommandResult, resultKey]{table: resultsTable, columns: "command_id, agent, status, sequence", by: "command_id", of: "String",
	value: func(r *schema.CommandResult) string { return r.CommandID }, key: keyOfResult, fields: resultFields}

// commandKey deduplicates commands.
type commandKey struct {
	ID     string `ch:"id"`
	Digest uint64 `ch:"digest"`
}

func keyOfCommand(c *schema.SeenCommand) commandKey {
	text, err := json.Marshal(&c.Command)
	if err != nil { // arguments that are not JSON; the audit has already decoded them
		panic("store: command " + c.ID + ": " + err.Error())
	}
	sum := sha256.Sum256(text)
	return commandKey{c.ID, binary.LittleEndian.Uint64(sum[:])}
}

// resultKey deduplicates command results.
type resultKey struct {
	Command string `ch:"command_id"`
	Agent   string `ch:"agent"`
	Status  string `ch:"status"`
	Number  uint32 `ch:"sequence"`
}

func keyOfResult(r *schema.CommandResult) resultKey {
	return resultKey{r.CommandID, r.Agent, string(r.Status), r.Sequence}
}

func commandFields(rows []schema.SeenCommand) []field {
	return []field{
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
	}
}

func resultFields(rows []schema.CommandResult) []field {
	return []field{
		{"command_id", each(rows, func(r *schema.CommandResult) string { return r.CommandID })},
		{"agent", each(rows, func(r *schema.CommandResult) string { return r.Agent })},
		{"status", each(rows, func(r *schema.CommandResult) string { return string(r.Status) })},
		{"kind", each(rows, func(r *schema.CommandResult) string { return r.Kind })},
		{"sequence", each(rows, func(r *schema.CommandResult) uint32 { return r.Sequence })},
		{"time", each(rows, func(r *schema.CommandResult) time.Time { return r.Time.Time() })},
		{"reason", each(rows, func(r *schema.CommandResult) string { return r.Reason })},
		{"output", each(rows, func(r *schema.CommandResult) string { return string(r.Output) })},
		{"verified", each(rows, func(r *schema.CommandResult) string { return r.Verified })},
	}
}
