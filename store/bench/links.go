package bench

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// linkValue is the stall of link l of a block at a minute, in hundredths of a percent: a
// third of the links are idle, the rest have an exponential background modulated by slow
// waves, and one group of links in 150 is congested at 8 to 38% for 90 minutes.
const linkValue = `least(10000, if(cityHash64(block, l) % 3 = 0, 0, toUInt32(-60 * log(1 - (rand(l) % 1000) / 1000.1) * (1 + 0.6 * sin(6.2832 * (minute / 360 + block / 20)))))
	+ if(cityHash64(block, intDiv(minute, 90)) % 150 = 0 AND l < 48, 800 + rand(l) % 3000, 0))`

// loadLinks makes samples and roll-ups of the credit stall of all links for hours that are
// rolled up: call it after Load and DB.RollUp. Roll-ups are generated directly rather than
// from samples: five months would have 9 billion.
func loadLinks(ctx context.Context, conn driver.Conn, cfg Config, progress func(string)) error {
	progress("links by hours")
	for day := range cfg.Days {
		if err := rollUps(ctx, conn, "link_hours", day, 60); err != nil {
			return err
		}
	}
	progress("links by five minutes")
	for day := cfg.Days - cfg.MinutesDays; day < cfg.Days; day++ {
		if err := rollUps(ctx, conn, "link_minutes", day, 5); err != nil {
			return err
		}
	}
	progress("links by intervals")
	for day := cfg.Days - cfg.RawDays; day < cfg.Days; day++ {
		err := conn.Exec(ctx, `INSERT INTO link_samples (fabric, metric, block, time, graph_version, percents, rates, stored_at)
			SELECT '`+Fabric+`', 'credit_stall', block, `+minuteTime+`, 1, arrayMap(l -> if(rand(l + 7) % 1000 = 0, NULL, toUInt16(`+linkValue+`)), range(512)), [], now()
			FROM (SELECT {from:UInt32} + intDiv(number, 81) AS minute, number % 81 AS block FROM numbers(1440 * 81))
			SETTINGS max_block_size = 8100`, clickhouse.Named("from", day*minutesOfDay))
		if err != nil {
			return fmt.Errorf("samples of day %d: %w", day, err)
		}
	}
	return conn.Exec(ctx, "INSERT INTO rollups (fabric, time, made_of, samples, kinds, stored_at) SELECT fabric, time, made_of, true, kinds, now() FROM rollups WHERE NOT samples AND fabric = '"+Fabric+"'")
}

// rollUps generates the roll-ups of a day with a step of so many minutes.
func rollUps(ctx context.Context, conn driver.Conn, table string, day, minutes int) error {
	statement := `INSERT INTO ` + table + ` (fabric, metric, block, time, graph_version, made_of, measured, percent_sums, percent_maxima, rate_averages, rate_maxima, stored_at)
		SELECT '` + Fabric + `', 'credit_stall', block, at, 1, made_of, arrayMap(l -> toUInt16({minutes:UInt32}), range(512)), arrayMap(l -> toUInt32({minutes:UInt32} * (` + linkValue + `)), range(512)) AS sums,
			arrayMap(v -> toUInt16(least(10000, intDiv(3 * v, 2 * {minutes:UInt32}))), sums), [], [], now()
		FROM
		(
			SELECT {from:UInt32} + intDiv(number, 81) * {minutes:UInt32} AS minute, number % 81 AS block, toDateTime('2026-01-01 00:00:00', 'UTC') + toIntervalMinute(minute) AS at
			FROM numbers(intDiv(1440, {minutes:UInt32}) * 81)
		) AS grid
		INNER JOIN (SELECT DISTINCT time AS hour, made_of FROM rollups WHERE fabric = '` + Fabric + `') AS r ON r.hour = toStartOfHour(at)`
	if err := conn.Exec(ctx, statement, clickhouse.Named("from", day*minutesOfDay), clickhouse.Named("minutes", minutes)); err != nil {
		return fmt.Errorf("%s of day %d: %w", table, day, err)
	}
	return nil
}
