package store

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/sqlquote"
)

//go:embed sql/rollup/*.sql
var rollupFiles embed.FS

// Roll-ups are made by the same statements with which a query counts hours that are not
// rolled up. So a result, the sum of valid roll-ups and a count over the rest, does not
// depend on which hours are rolled up.

// countKinds are the kinds of hour_counts, each with an SQL file of its name. Append new
// ones at the end: the column kinds of rollups says how many of them an hour has.
var countKinds = []string{"network_state", "network_transition", "region_size", "region_mean", "region_transition", "hot_episode", "link_time", "congestion", "forecast", "cause"}

func rollupText(name string) string {
	text, err := fs.ReadFile(rollupFiles, "sql/rollup/"+name+".sql")
	if err != nil {
		panic("store: " + err.Error()) // the folder is embedded above
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// staleHour is an hour to roll up.
type staleHour struct {
	Hour   int64  `ch:"hour"` // seconds since 1970
	MadeOf uint64 `ch:"made_of"`
}

// rollUp makes the roll-ups of one fabric.
type rollUp struct {
	db     *DB
	fabric string
}

// RollUp makes a fabric's missing and outdated roll-ups for the hours within last of the
// newest interval's event time, the newest first; last 0: for all hours. It returns how many
// hours it has rolled up. An hour is rolled up once an interval that starts two or more
// hours after its start is stored, or if none is stored any more. RollUp may be interrupted at any point and repeated; two
// may not run concurrently for one fabric.
func (db *DB) RollUp(ctx context.Context, fabric string, last time.Duration) (made int, err error) {
	u := &rollUp{db, fabric}
	from, to, err := u.reach(ctx, last)
	if err != nil || from >= to {
		return 0, err
	}
	hours, err := u.staleHours(ctx, from, to)
	if err != nil {
		return 0, fmt.Errorf("roll up fabric %q: %w", fabric, err)
	}
	for len(hours) > 0 {
		n := 1
		for n < len(hours) && dayOf(hours[n].Hour) == dayOf(hours[0].Hour) {
			n++
		}
		if err := u.makeDay(ctx, hours[:n]); err != nil {
			return made, fmt.Errorf("roll up fabric %q at %s: %w", fabric, time.Unix(hours[0].Hour, 0).UTC().Format(time.RFC3339), err)
		}
		db.metrics.rollUps.WithLabelValues(fabric).Add(float64(n))
		made, hours = made+n, hours[n:]
	}
	if err := u.makeLinkDays(ctx, from, to); err != nil {
		return made, fmt.Errorf("roll up the days of fabric %q: %w", fabric, err)
	}
	if made > 0 {
		db.log.Debug("store: rolled up", slog.String("fabric", fabric), slog.Int("hours", made))
	}
	return made, nil
}

const (
	rollUpReach = 48 * time.Hour // of event time, which contains most intervals that are stored again
	rollUpAll   = time.Hour      // between two full scans
	rollUpEnd   = 3 * time.Hour  // without a stored interval, after which the last hours are rolled up too
)

// KeepRolledUp rolls up a fabric's hours periodically, until ctx ends.
func (db *DB) KeepRolledUp(ctx context.Context, fabric string) error {
	db.metrics.rollUps.WithLabelValues(fabric)
	failures := db.metrics.rollUpFailures.WithLabelValues(fabric)
	var looked time.Time
	for ctx.Err() == nil {
		last := rollUpReach
		if now := db.now(); now.Sub(looked) >= rollUpAll {
			last, looked = 0, now
		}
		_, err := db.RollUp(ctx, fabric, last)
		db.health.noteQuery(err)
		if err != nil && ctx.Err() == nil {
			failures.Inc()
			return err
		}
		if !retry.Sleep(ctx, db.cfg.RollUpInterval) {
			break
		}
	}
	return nil
}

func dayOf(hour int64) int64 { return hour / 86400 }

// reach is the event time to roll up, in milliseconds since 1970: whole hours up to the last
// interval, going back by last; 0: all.
func (u *rollUp) reach(ctx context.Context, last time.Duration) (from, to int64, err error) {
	var stored []struct {
		Oldest int64     `ch:"oldest"`
		Newest int64     `ch:"newest"`
		Stored time.Time `ch:"stored"`
	}
	err = u.db.conn.Select(u.db.cluster.exact(ctx), &stored,
		"SELECT toUnixTimestamp64Milli(min(time)) AS oldest, toUnixTimestamp64Milli(max(time)) AS newest, max(stored_at) AS stored FROM intervals WHERE fabric = {fabric:String} HAVING count() > 0",
		clickhouse.Named("fabric", u.fabric))
	if err != nil {
		return 0, 0, fmt.Errorf("roll up fabric %q: %w", u.fabric, err)
	}
	if len(stored) == 0 {
		return 0, 0, nil
	}
	from, to = stored[0].Oldest/hourMillis*hourMillis, stored[0].Newest/hourMillis*hourMillis
	if u.db.now().Sub(stored[0].Stored) > rollUpEnd {
		to += 2 * hourMillis
	}
	if last > 0 {
		from = max(from, to-last.Milliseconds()/hourMillis*hourMillis)
	}
	return from, to, nil
}

// staleHours are the hours to roll up, the newest first, without those whose regions
// may have expired.
func (u *rollUp) staleHours(ctx context.Context, from, to int64) ([]staleHour, error) {
	var hours []staleHour
	err := u.db.conn.Select(u.db.cluster.exact(ctx), &hours,
		"SELECT hour, made_of FROM (\n"+rollupText("hashes")+"\n) WHERE short AND oldest >= toDateTime64({kept:Int64}, 6, 'UTC') AND (hour, made_of) NOT IN"+
			" (SELECT toInt64(toUnixTimestamp(time)), made_of FROM rollups WHERE fabric = {fabric:String} AND kinds >= {kinds:UInt8}) ORDER BY hour DESC",
		clickhouse.Named("kinds", len(countKinds)),
		clickhouse.Named("fabric", u.fabric), clickhouse.Named("from", from), clickhouse.Named("to", to), clickhouse.Named("kept", u.db.rowsKeptSince()))
	return hours, err
}

// rowsKeptSince is since when rows must be stored, in seconds since 1970, for those of an hour not to have expired, nor to do so within an hour.
func (db *DB) rowsKeptSince() int64 {
	keep := db.cfg.Retention.Regions
	if keep == 0 {
		return 0
	}
	return db.now().Add(-keep).Unix() + 3600
}

// makeDay rolls up some hours of one day, table by table and the markers last. Each
// statement skips the hours that it has already done.
func (u *rollUp) makeDay(ctx context.Context, hours []staleHour) error {
	due := rolledFor(hours)
	kinds := make([]string, len(countKinds))
	for i, kind := range countKinds {
		kinds[i] = "SELECT " + sqlquote.Text(kind) + " AS kind, " + countColumns + "\nFROM\n(\n" + due.text(kind) + "\n)"
	}
	counts := rolledRows{table: "hour_counts", columns: "graph_version, kind, metric, x, y, n, total, other", source: strings.Join(kinds, "\nUNION ALL\n"), part: "part.kind, "}
	if err := u.makeRows(ctx, hours, counts); err != nil {
		return err
	}
	const columns = "graph_version, metric, region_id, severity, first, last, last_ms, intervals, max_size, max_mean, links"
	if err := u.makeRows(ctx, hours, rolledRows{table: "region_hours", columns: columns, source: due.text("region_hours")}); err != nil {
		return err
	}
	complete, err := u.withSamples(ctx, hours)
	if err != nil {
		return err
	}
	for i := range hours { // hour by hour, since the links of one hour are some megabytes
		if complete[i] {
			if err := u.makeLinks(ctx, hours[i:i+1]); err != nil {
				return err
			}
		}
	}
	n := len(hours)
	markers := rowSet{n, []field{
		{"fabric", repeat(u.fabric, n)}, {"time", each(hours, func(h *staleHour) time.Time { return time.Unix(h.Hour, 0).UTC() })},
		{"made_of", each(hours, func(h *staleHour) uint64 { return h.MadeOf })}, {"samples", plain[bool](complete)}, {"kinds", repeat(uint8(len(countKinds)), n)}, {"stored_at", repeat(u.db.now(), n)}}}
	k := key{fabric: u.fabric, start: time.Unix(hours[0].Hour, 0).UTC(), content: contentOf(hours, complete)}
	return u.db.writer.insert(ctx, "rollups", markers, k, 0)
}

// contentOf distinguishes markers of the same hours that were made of other rows.
func contentOf(hours []staleHour, complete []bool) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, hours, complete, len(countKinds))
	return h.Sum64()
}

// withSamples reports for each hour whether all samples of links are stored.
func (u *rollUp) withSamples(ctx context.Context, hours []staleHour) ([]bool, error) {
	var found []struct {
		Hour int64 `ch:"hour"`
	}
	due := rolledFor(hours)
	if err := u.db.conn.Select(u.db.cluster.exact(ctx), &found, due.scope()+due.text("samples"), u.parameters(hours, 0)...); err != nil {
		return nil, fmt.Errorf("look for the samples of links: %w", err)
	}
	complete := make([]bool, len(hours))
	for i := range hours {
		for _, f := range found {
			complete[i] = complete[i] || f.Hour == hours[i].Hour
		}
	}
	return complete, nil
}

func (u *rollUp) makeLinks(ctx context.Context, hour []staleHour) error {
	const columns = "graph_version, metric, block, measured, percent_sums, percent_maxima, rate_averages, rate_maxima"
	for table, bucket := range map[string]int64{"link_minutes": 300, "link_hours": 3600} {
		if err := u.makeRows(ctx, hour, rolledRows{table: table, columns: columns, source: rolledFor(hour).text("links"), bucket: bucket}); err != nil {
			return err
		}
	}
	return nil
}

// rolledRows are the rows of one table of roll-ups.
type rolledRows struct {
	table, columns string
	source         string // a subquery for the rows
	part           string // "part.COLUMN, " if the table may lack an hour for some values of a column only
	bucket         int64  // the step in seconds to which links are rolled up; 0: an hour of other rows
}

// makeRows inserts, in one block, the rows of those hours of one day that their table lacks. If an interval is stored again meanwhile,
// the rows may contain it: then their made_of does not match, and they are never used.
func (u *rollUp) makeRows(ctx context.Context, hours []staleHour, rows rolledRows) error {
	at := "part.hour"
	if rows.bucket > 0 {
		at = "part.begin"
	}
	statement := "INSERT INTO " + rows.table + " (fabric, time, made_of, stored_at, " + rows.columns + ")\n" + rolledFor(hours).scope() +
		"SELECT {fabric:String}, toDateTime(" + at + ", 'UTC'), due.made_of, now(), " + rows.columns + "\nFROM\n(\n" + rows.source + `
) AS part
INNER JOIN
(
SELECT pair.1 AS hour, pair.2 AS made_of
FROM (SELECT arrayJoin(arrayZip({hours:Array(Int64)}, {made_of:Array(UInt64)})) AS pair)
) AS due ON due.hour = part.hour
WHERE (` + rows.part + `due.hour, due.made_of) NOT IN
(
SELECT ` + strings.TrimPrefix(rows.part, "part.") + `toInt64(toUnixTimestamp(time)) - toInt64(toUnixTimestamp(time)) % 3600, made_of
FROM ` + rows.table + `
WHERE fabric = {fabric:String} AND time >= toDateTime(intDiv({from:Int64}, 1000), 'UTC') AND time < toDateTime(intDiv({to:Int64}, 1000), 'UTC')
)`
	return u.db.writer.insertSelected(ctx, rows.table, statement, u.parameters(hours, rows.bucket))
}

// makeLinkDays makes the missing days of links from hours that are rolled up, each in one
// block.
func (u *rollUp) makeLinkDays(ctx context.Context, from, to int64) error {
	rolled, err := u.db.rolled(ctx, u.fabric, from, to, true, true)
	if err != nil {
		return err
	}
	for _, d := range rolled.days {
		if d.Made {
			continue
		}
		day := Rolled{samples: true, fresh: []stretch{{d.Hour * 1000, d.Hour*1000 + 24*hourMillis}}, outdated: rolled.outdated}
		statement := "INSERT INTO link_days (fabric, time, made_of, stored_at, graph_version, metric, block, measured, percent_sums, percent_maxima, rate_averages, rate_maxima)\n" +
			"SELECT {fabric:String}, toDateTime({day:Int64}, 'UTC'), {made_of:UInt64}, now(), graph_version, metric, block, intervals, sums, maxima, averages, highest\nFROM\n(\n" +
			strings.Replace(rollupText("link_days"), "{{holds}}", day.holds(), 1) + "\n)"
		err := u.db.writer.insertSelected(ctx, "link_days", statement, []any{clickhouse.Named("fabric", u.fabric), clickhouse.Named("day", d.Hour), clickhouse.Named("made_of", d.MadeOf)})
		if err != nil {
			return err
		}
	}
	return nil
}

// parameters are the parameters of statements that roll up hours of one day.
func (u *rollUp) parameters(hours []staleHour, bucket int64) []any {
	first, last := hours[0].Hour, hours[0].Hour
	numbers, hashes := make([]int64, len(hours)), make([]uint64, len(hours))
	for i, h := range hours {
		first, last = min(first, h.Hour), max(last, h.Hour)
		numbers[i], hashes[i] = h.Hour, h.MadeOf
	}
	return []any{clickhouse.Named("fabric", u.fabric), clickhouse.Named("from", first*1000), clickhouse.Named("to", (last+7200)*1000),
		clickhouse.Named("hours", numbers), clickhouse.Named("made_of", hashes), clickhouse.Named("bucket", bucket)}
}
