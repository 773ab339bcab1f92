package store

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/retry"
)

//go:embed sql/rollup/*.sql
var rollupFiles embed.FS

// Roll-ups are made by the same statements by which a question counts what is not
// rolled up, so that it makes no difference to an answer which hours are: it is the sum
// of the roll-ups that hold and of a count over the rest.

// countKinds are the kinds of hour_counts, each with a file of its name. A further one goes
// to the end: the column kinds of rollups says how many of them an hour has.
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

// staleHour is an hour that is to be rolled up.
type staleHour struct {
	Hour   int64  `ch:"hour"` // seconds since 1970
	MadeOf uint64 `ch:"made_of"`
}

// RollUp makes the roll-ups of a fabric that are missing, and those that no longer hold,
// of the hours of the last stretch of event time, the newest first; 0: of all. It
// returns how many hours it has made. An hour is due once an interval
// that starts two hours after it, or later, is stored. It may be cut off anywhere and called
// again; two at once for one fabric may not run.
func (db *DB) RollUp(ctx context.Context, fabric string, last time.Duration) (made int, err error) {
	from, to, err := db.reach(ctx, fabric, last)
	if err != nil || from >= to {
		return 0, err
	}
	hours, err := db.staleHours(ctx, fabric, from, to)
	if err != nil {
		return 0, fmt.Errorf("roll up fabric %q: %w", fabric, err)
	}
	for len(hours) > 0 {
		n := 1
		for n < len(hours) && dayOf(hours[n].Hour) == dayOf(hours[0].Hour) {
			n++
		}
		if err := db.rollUpDay(ctx, fabric, hours[:n]); err != nil {
			return made, fmt.Errorf("roll up fabric %q at %s: %w", fabric, time.Unix(hours[0].Hour, 0).UTC().Format(time.RFC3339), err)
		}
		db.metrics.rollUps.WithLabelValues(fabric).Add(float64(n))
		made, hours = made+n, hours[n:]
	}
	if err := db.rollUpLinkDays(ctx, fabric, from, to); err != nil {
		return made, fmt.Errorf("roll up the days of fabric %q: %w", fabric, err)
	}
	if made > 0 {
		db.log.Debug("store: rolled up", slog.String("fabric", fabric), slog.Int("hours", made))
	}
	return made, nil
}

const (
	rollUpReach = 48 * time.Hour // of event time, in which most of what is stored again lies
	rollUpAll   = time.Hour      // between two looks over everything
)

// KeepRolledUp makes the roll-ups of a fabric as they become due, until ctx ends.
func (db *DB) KeepRolledUp(ctx context.Context, fabric string) error {
	db.metrics.rollUps.WithLabelValues(fabric)
	var looked time.Time
	for ctx.Err() == nil {
		last := rollUpReach
		if now := db.now(); now.Sub(looked) >= rollUpAll {
			last, looked = 0, now
		}
		if _, err := db.RollUp(ctx, fabric, last); err != nil && ctx.Err() == nil {
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
// interval, of the last stretch; 0: of all.
func (db *DB) reach(ctx context.Context, fabric string, last time.Duration) (from, to int64, err error) {
	var stored []struct {
		Oldest int64 `ch:"oldest"`
		Newest int64 `ch:"newest"`
	}
	err = db.conn.Select(db.exact(ctx), &stored,
		"SELECT toUnixTimestamp64Milli(min(time)) AS oldest, toUnixTimestamp64Milli(max(time)) AS newest FROM intervals WHERE fabric = {fabric:String} HAVING count() > 0",
		clickhouse.Named("fabric", fabric))
	if err != nil {
		return 0, 0, fmt.Errorf("roll up fabric %q: %w", fabric, err)
	}
	if len(stored) == 0 {
		return 0, 0, nil
	}
	from, to = stored[0].Oldest/hourMillis*hourMillis, stored[0].Newest/hourMillis*hourMillis
	if last > 0 {
		from = max(from, to-last.Milliseconds()/hourMillis*hourMillis)
	}
	return from, to, nil
}

// staleHours are those that are due, the newest first: not those of which regions may
// have been dropped since.
func (db *DB) staleHours(ctx context.Context, fabric string, from, to int64) ([]staleHour, error) {
	kept := int64(0)
	if keep := db.cfg.Retention.Regions; keep > 0 {
		kept = db.now().Add(-keep).Unix() + 3600
	}
	var hours []staleHour
	err := db.conn.Select(db.exact(ctx), &hours,
		"SELECT hour, made_of FROM (\n"+rollupText("hashes")+"\n) WHERE longest_ms <= 720000 AND oldest >= toDateTime64({kept:Int64}, 6, 'UTC') AND (hour, made_of) NOT IN"+
			" (SELECT toInt64(toUnixTimestamp(time)), made_of FROM rollups WHERE fabric = {fabric:String} AND kinds >= {kinds:UInt8}) ORDER BY hour DESC",
		clickhouse.Named("kinds", len(countKinds)),
		clickhouse.Named("fabric", fabric), clickhouse.Named("from", from), clickhouse.Named("to", to), clickhouse.Named("kept", kept))
	return hours, err
}

// rollUpDay makes the roll-ups of some hours of one day, in the order of the tables and
// the markers last. Each statement leaves out the hours that it made before.
func (db *DB) rollUpDay(ctx context.Context, fabric string, hours []staleHour) error {
	due := rolledFor(hours)
	kinds := make([]string, len(countKinds))
	for i, kind := range countKinds {
		kinds[i] = "SELECT " + quoteText(kind) + " AS kind, " + countColumns + "\nFROM\n(\n" + due.text(kind) + "\n)"
	}
	if err := db.rollUpRows(ctx, "hour_counts", "graph_version, kind, metric, x, y, n, total, other", strings.Join(kinds, "\nUNION ALL\n"), "part.kind, ", fabric, hours, 0); err != nil {
		return err
	}
	const columns = "graph_version, metric, region_id, severity, first, last, last_ms, intervals, max_size, max_mean, links"
	if err := db.rollUpRows(ctx, "region_hours", columns, due.text("region_hours"), "", fabric, hours, 0); err != nil {
		return err
	}
	complete, err := db.withSamples(ctx, fabric, hours)
	if err != nil {
		return err
	}
	for i := range hours { // an hour of links is some megabytes
		if complete[i] {
			if err := db.rollUpLinks(ctx, fabric, hours[i:i+1]); err != nil {
				return err
			}
		}
	}
	n := len(hours)
	markers := rowSet{n, []field{
		{"fabric", repeat(fabric, n)}, {"time", each(hours, func(h *staleHour) time.Time { return time.Unix(h.Hour, 0).UTC() })},
		{"made_of", each(hours, func(h *staleHour) uint64 { return h.MadeOf })}, {"samples", plain[bool](complete)}, {"kinds", repeat(uint8(len(countKinds)), n)}, {"stored_at", repeat(db.now(), n)}}}
	k := key{fabric: fabric, start: time.Unix(hours[0].Hour, 0).UTC(), content: contentOf(hours, complete)}
	return db.insert(ctx, "rollups", markers, k, 0)
}

// contentOf tells apart markers of the same hours that are made of other rows.
func contentOf(hours []staleHour, complete []bool) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, hours, complete, len(countKinds))
	return h.Sum64()
}

// withSamples says of which hours all samples of links are there.
func (db *DB) withSamples(ctx context.Context, fabric string, hours []staleHour) ([]bool, error) {
	var found []struct {
		Hour int64 `ch:"hour"`
	}
	due := rolledFor(hours)
	if err := db.conn.Select(db.exact(ctx), &found, due.scope()+due.text("samples"), db.rollupParameters(fabric, hours, 0)...); err != nil {
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

func (db *DB) rollUpLinks(ctx context.Context, fabric string, hour []staleHour) error {
	const columns = "graph_version, metric, block, measured, percent_sums, percent_maxima, rate_averages, rate_maxima"
	for table, bucket := range map[string]int64{"link_minutes": 300, "link_hours": 3600} {
		if err := db.rollUpRows(ctx, table, columns, rolledFor(hour).text("links"), "", fabric, hour, bucket); err != nil {
			return err
		}
	}
	return nil
}

// rollUpRows makes the rows of one table of those hours of one day that have none there yet,
// or none of a part that a column tells ("part.COLUMN, "), in one block. What is stored again meanwhile may be in them: then their made_of
// is not what it has to be, and they never count. bucket is the length in seconds of what
// links are rolled up to.
func (db *DB) rollUpRows(ctx context.Context, table, columns, source, part, fabric string, hours []staleHour, bucket int64) error {
	at := "part.hour"
	if bucket > 0 {
		at = "part.begin"
	}
	statement := "INSERT INTO " + table + " (fabric, time, made_of, stored_at, " + columns + ")\n" + rolledFor(hours).scope() +
		"SELECT {fabric:String}, toDateTime(" + at + ", 'UTC'), due.made_of, now(), " + columns + "\nFROM\n(\n" + source + `
) AS part
INNER JOIN
(
SELECT pair.1 AS hour, pair.2 AS made_of
FROM (SELECT arrayJoin(arrayZip({hours:Array(Int64)}, {made_of:Array(UInt64)})) AS pair)
) AS due ON due.hour = part.hour
WHERE (` + part + `due.hour, due.made_of) NOT IN
(
SELECT ` + strings.TrimPrefix(part, "part.") + `toInt64(toUnixTimestamp(time)) - toInt64(toUnixTimestamp(time)) % 3600, made_of
FROM ` + table + `
WHERE fabric = {fabric:String} AND time >= toDateTime(intDiv({from:Int64}, 1000), 'UTC') AND time < toDateTime(intDiv({to:Int64}, 1000), 'UTC')
)`
	return db.insertSelected(ctx, table, statement, db.rollupParameters(fabric, hours, bucket))
}

// rollUpLinkDays makes the days of links that are missing, of hours that are rolled up, each
// in one block.
func (db *DB) rollUpLinkDays(ctx context.Context, fabric string, from, to int64) error {
	rolled, err := db.rolled(ctx, fabric, from, to, true, true)
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
		err := db.insertSelected(ctx, "link_days", statement, []any{clickhouse.Named("fabric", fabric), clickhouse.Named("day", d.Hour), clickhouse.Named("made_of", d.MadeOf)})
		if err != nil {
			return err
		}
	}
	return nil
}

// insertSelected runs an INSERT SELECT that leaves out what is there already.
func (db *DB) insertSelected(ctx context.Context, table, statement string, parameters []any) error {
	settings := db.insertSettings("")
	delete(settings, "insert_deduplication_token")
	maps.Copy(settings, clickhouse.Settings{"max_insert_threads": 1, "max_threads": 1, "parallel_distributed_insert_select": 0})
	if db.cluster.Name != "" {
		settings["select_sequential_consistency"] = 1
	}
	defer db.lockTable(table)()
	if err := db.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), statement, parameters...); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

// rollupParameters are those of statements that make hours of one day.
func (db *DB) rollupParameters(fabric string, hours []staleHour, bucket int64) []any {
	first, last := hours[0].Hour, hours[0].Hour
	numbers, hashes := make([]int64, len(hours)), make([]uint64, len(hours))
	for i, h := range hours {
		first, last = min(first, h.Hour), max(last, h.Hour)
		numbers[i], hashes[i] = h.Hour, h.MadeOf
	}
	return []any{clickhouse.Named("fabric", fabric), clickhouse.Named("from", first*1000), clickhouse.Named("to", (last+7200)*1000),
		clickhouse.Named("hours", numbers), clickhouse.Named("made_of", hashes), clickhouse.Named("bucket", bucket)}
}
