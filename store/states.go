package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
)

// SavedStates are the states of all stages of a fabric's analysis after an
// interval.
type SavedStates struct {
	GraphVersion uint64
	// Interval has no duration if it was stored before migration 0007_stage_states and
	// its row in intervals is gone.
	Interval schema.Interval
	Stages   []schema.StageState // by name
}

// statesKept is how long a state is useful after an outage: by then its regions
// are worthless, but not what forecasting has learned.
const statesKept = 7 * day

const statesTable = "analysis_states"

// StoreStates stores the states of all stages after an interval atomically and
// once, however often it is called with them. Call it after the interval is stored:
// the next process restores the last states and replays the intervals stored since,
// so a crash between the two calls does no harm.
func (db *DB) StoreStates(ctx context.Context, fabric string, graphVersion uint64, interval schema.Interval, revision uint32, states []schema.StageState) error {
	if fabric == "" || len(states) == 0 {
		return errors.New("store states of the analysis: the fabric has no name, or there are no states")
	}
	n := len(states)
	rows := rowSet{n, []field{
		{"duration_ms", repeat(uint32(interval.DurationNanos/1e6), n)},
		{"stage", each(states, func(s *schema.StageState) string { return s.Stage })},
		{"form", each(states, func(s *schema.StageState) uint32 { return uint32(s.Version) })},
		{"state", each(states, func(s *schema.StageState) string { return string(s.Bytes) })}}}
	k := key{fabric: fabric, start: instant(interval.StartNanos), version: graphVersion, revision: revision}
	return db.writer.insert(ctx, statesTable, rowMeta{k, db.now()}.complete(rows, "time"), k, 0)
}

//go:embed sql/last_states.sql
var lastStates string

// LastStates returns the last states of an interval that starts at atOrBefore (nanoseconds since
// 1970) or earlier, of any graph version; of two versions, the one stored last. States of an
// interval's earlier revisions do not count. It returns ErrNotFound if there are none.
func (db *DB) LastStates(ctx context.Context, fabric string, atOrBefore int64) (SavedStates, error) {
	var rows []struct {
		Time     time.Time `ch:"time"`
		Version  uint64    `ch:"graph_version"`
		Stage    string    `ch:"stage"`
		Form     uint32    `ch:"form"`
		State    string    `ch:"state"`
		Duration uint32    `ch:"duration"` // ms
	}
	err := db.conn.Select(db.cluster.exact(ctx), &rows, lastStates, clickhouse.Named("fabric", fabric), clickhouse.Named("at", floorMillis(atOrBefore)))
	if err != nil {
		return SavedStates{}, fmt.Errorf("read the last states of the analysis of fabric %q: %w", fabric, err)
	}
	if len(rows) == 0 {
		return SavedStates{}, fmt.Errorf("states of the analysis of fabric %q: %w", fabric, ErrNotFound)
	}
	saved := SavedStates{GraphVersion: rows[0].Version, Interval: schema.Interval{StartNanos: rows[0].Time.UnixNano(), DurationNanos: int64(rows[0].Duration) * 1e6}}
	for _, r := range rows {
		saved.Stages = append(saved.Stages, schema.StageState{Stage: r.Stage, Version: int(r.Form), Bytes: []byte(r.State)})
	}
	return saved, nil
}

// floorMillis rounds down to milliseconds.
func floorMillis(nanos int64) int64 {
	ms := nanos / 1e6
	if nanos%1e6 < 0 {
		ms--
	}
	return ms
}
