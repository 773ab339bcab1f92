package store

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
)

// AnalysisState is what the analysis of a fabric had learned up to an interval,
// that included, in a form of its own.
type AnalysisState struct {
	Fabric       string
	GraphVersion uint64
	Interval     schema.Interval
	State        []byte
}

// statesKept is how long a state is of use after an outage: what it knows of
// regions is worth nothing by then, what it has learned of forecasts is.
const statesKept = 7 * day

const stateColumns = "fabric, time, graph_version, state, stored_at"

// StoreState keeps a state, once, however often it is called with it. Call it when
// the interval is stored: the next process takes the last state and the intervals
// stored since, so that it makes no difference where a crash lies between them.
func (db *DB) StoreState(ctx context.Context, s AnalysisState) error {
	k := key{fabric: s.Fabric, start: instant(s.Interval.StartNanos), version: s.GraphVersion}
	row := rowSet{1, []column{plain[string]{s.Fabric}, plain[time.Time]{k.start}, plain[uint64]{s.GraphVersion}, plain[string]{string(s.State)}, plain[time.Time]{db.now()}}}
	return db.insert(ctx, statesTable, stateColumns, row, k, 0)
}

const statesTable = "analysis_states"

// LastState is the last state of a version of a fabric that belongs to the given
// interval or an earlier one. ErrNotFound: there is none.
func (db *DB) LastState(ctx context.Context, fabric string, version uint64, startNanos int64) (AnalysisState, error) {
	rows, err := ask[struct {
		Time  time.Time `ch:"time"`
		State string    `ch:"state"`
	}](ctx, db, "analysis_state", args{"fabric": fabric, "version": version, "start": startNanos / 1e6})
	if err != nil {
		return AnalysisState{}, err
	}
	if len(rows) == 0 {
		return AnalysisState{}, fmt.Errorf("state of the analysis of fabric %q: %w", fabric, ErrNotFound)
	}
	return AnalysisState{Fabric: fabric, GraphVersion: version, Interval: schema.Interval{StartNanos: rows[0].Time.UnixNano()}, State: []byte(rows[0].State)}, nil
}
