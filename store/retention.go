package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// retention is how long a table keeps its rows.
type retention struct {
	table string
	keep  time.Duration // 0: forever
}

// retentions lists the tables with a retention. `intervals` is not among them: its
// rows are small, and when all other rows have expired they still show that the
// fabric was monitored.
func (r *Retention) retentions() []retention {
	return []retention{{"link_samples", r.Samples}, {"raw_counters", r.Raw}, {"port_readings", r.Raw}, {"regions", r.Regions},
		{"network_states", r.Regions}, {"events", r.Regions}, {"jobs", r.Regions}, {"failures", r.Regions}, {"job_traffic", r.Regions},
		{"diagnoses", r.Regions}, {"mitigations", r.Regions}, {commandsTable, r.Regions}, {resultsTable, r.Regions}, {feedbackTable, r.Regions},
		{hardwareTable, r.Regions}, {hostRunsTable, r.Regions}, {collectivesTable, r.Regions}, {statesTable, statesKept},
		{"link_minutes", r.Minutes}, {"link_hours", r.Hours}, {"link_days", r.Hours}, {"region_hours", r.Hours}, {"hour_counts", r.Hours}, {"rollups", r.Hours}}
}

// ApplyRetention gives every table the configured retention, even if it is
// shorter. It is meant for callers that may decide so: `giverny migrate`, and a
// process that is the only user of the store.
func (db *DB) ApplyRetention(ctx context.Context) error {
	return db.migrator().setRetentions(ctx, true)
}

// widenRetention gives tables the configured retention if it is longer than
// theirs, or if they are empty. So processes with different configurations agree,
// whichever starts last, and none drops rows because its configuration file is
// outdated.
// On a full disk it changes nothing.
func (m *migrator) widenRetention(ctx context.Context) error {
	err := m.setRetentions(ctx, false)
	if errors.Is(err, ErrNoRoom) {
		m.log.Warn("store: retention not changed; free disk space and restart", "error", err)
		return nil
	}
	return err
}

func (m *migrator) setRetentions(ctx context.Context, mayShorten bool) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(m.cluster.ddlSettings()))
	for _, want := range m.retention.retentions() {
		has, empty, err := m.retentionOf(ctx, want.table)
		if err != nil {
			return err
		}
		change, held := changeRetention(has, want.keep, empty || mayShorten)
		if held {
			m.log.Warn("store: retention not shortened: the table keeps rows for longer than this configuration says; run giverny migrate to shorten it",
				slog.String("table", want.table), slog.String("table_keeps", has.String()), slog.Duration("configured", want.keep))
		}
		if change == "" {
			continue
		}
		if err := m.checkRoom(ctx); err != nil {
			return err
		}
		// A part carries the time at which it expires. It is calculated again, in the background and without rewriting the part,
		// or rows would be deleted according to the retention with which they were stored.
		changes := []string{"MODIFY SETTING materialize_ttl_recalculate_only = 1", change + " SETTINGS materialize_ttl_after_modify = 1"}
		if empty {
			changes = []string{change + " SETTINGS materialize_ttl_after_modify = 0"}
		}
		for _, change := range changes {
			if err := m.conn.Exec(ctx, "ALTER TABLE "+m.cluster.local(want.table)+m.cluster.on()+" "+change); err != nil {
				return fmt.Errorf("migrate: set the retention of %s: %w", want.table, err)
			}
		}
	}
	return nil
}

func (m *migrator) retentionOf(ctx context.Context, table string) (has ttl, empty bool, err error) {
	name := table
	if m.cluster.Name != "" {
		name = localName(table)
	}
	engine, err := m.engineOf(ctx, name)
	if err != nil {
		return ttl{}, false, err
	}
	var rows uint64
	if err := m.conn.QueryRow(ctx, "SELECT count() FROM "+table).Scan(&rows); err != nil {
		return ttl{}, false, fmt.Errorf("migrate: count the rows of %s: %w", table, err)
	}
	return parseTTL(engine), rows == 0, nil
}

// ttl is a table's TTL clause.
type ttl struct {
	clause string        // empty: the table has none
	keep   time.Duration // 0: none, or one that Giverny did not write
}

func (t ttl) String() string {
	switch {
	case t.clause == "":
		return "for ever"
	case t.keep == 0:
		return "TTL " + t.clause
	}
	return t.keep.String()
}

var (
	ttlClause = regexp.MustCompile(`(?is)\sTTL\s+(.*?)(?:\s+SETTINGS\s.*)?$`)
	ownTTL    = regexp.MustCompile("(?is)^`?stored_at`?\\s*\\+\\s*(?:toInterval(\\w+)\\s*\\(\\s*(\\d+)\\s*\\)|INTERVAL\\s+'?(\\d+)'?\\s+(\\w+))(?:\\s+DELETE)?$")
)

var ttlUnits = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "week": 7 * day}

// parseTTL parses the TTL from engine_full of system.tables, in any form in
// which ClickHouse prints stored_at plus an interval.
func parseTTL(engine string) ttl {
	m := ttlClause.FindStringSubmatch(engine)
	if m == nil {
		return ttl{}
	}
	t := ttl{clause: strings.TrimSpace(m[1])}
	own := ownTTL.FindStringSubmatch(t.clause)
	if own == nil {
		return t
	}
	unit := ttlUnits[strings.TrimSuffix(strings.ToLower(own[1]+own[4]), "s")]
	if n, err := strconv.ParseInt(own[2]+own[3], 10, 64); err == nil {
		t.keep = time.Duration(n) * unit
	}
	return t
}

// changeRetention returns the clause of ALTER TABLE that sets a table's retention
// to keep, 0 for forever; empty if there is nothing to change. held is true if the
// table keeps rows for longer, or has the operator's own TTL, and is left
// unchanged because it may not be shortened.
func changeRetention(has ttl, keep time.Duration, mayShorten bool) (clause string, held bool) {
	shorter := keep > 0 && (has.clause == "" || keep < has.keep)
	foreign := has.clause != "" && has.keep == 0
	switch {
	case has.clause == "" && keep == 0, !foreign && has.clause != "" && has.keep == keep:
		return "", false
	case (shorter || foreign) && !mayShorten:
		return "", true
	case keep == 0:
		return "REMOVE TTL", false
	}
	return fmt.Sprintf("MODIFY TTL stored_at + toIntervalSecond(%d)", int64(keep/time.Second)), false
}
