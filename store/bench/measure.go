package bench

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Bench runs queries against a store that Load has filled.
type Bench struct {
	Model  *read.Model
	Conn   driver.Conn // of the same database
	Config Config
	Out    io.Writer
}

// Fill loads what the store lacks and calls rollUp. It may be interrupted after the load
// and called again.
func (b *Bench) Fill(ctx context.Context, rollUp func(context.Context) (int, error)) error {
	began := time.Now()
	progress := func(what string) { fmt.Fprintf(b.Out, "# %6.1f s: %s\n", time.Since(began).Seconds(), what) }
	var diagnoses, links uint64
	if err := b.Conn.QueryRow(ctx, "SELECT (SELECT count() FROM diagnoses), (SELECT count() FROM link_hours)").Scan(&diagnoses, &links); err != nil {
		return err
	}
	if diagnoses == 0 { // the last table that is filled
		if err := load(ctx, b.Conn, b.Config, progress); err != nil {
			return err
		}
	}
	progress("rolling up")
	hours, err := rollUp(ctx)
	if err != nil {
		return err
	}
	progress(fmt.Sprintf("%d hours are rolled up", hours))
	if links > 0 {
		return nil
	}
	if err := loadLinks(ctx, b.Conn, b.Config, progress); err != nil {
		return err
	}
	progress("links by days")
	if _, err := rollUp(ctx); err != nil {
		return err
	}
	progress("done")
	return nil
}

// question is a query with the time that it may take.
type question struct {
	name  string
	limit time.Duration
	ask   func(context.Context) error
}

// Measure prints, for each query over the whole time: the best time of three runs, the CPU time
// of server and program and the number of rows read in the last run, and the time limit. It
// returns an error if a limit was missed.
func (b *Bench) Measure(ctx context.Context) error {
	if err := b.describe(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "%-28s %10s %10s %14s %10s\n", "question", "ms", "CPU ms", "rows read", "limit ms")
	missed := 0
	for _, q := range b.questions() {
		best := time.Hour
		var used usage
		for range 3 {
			before, err := b.usage(ctx)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := q.ask(ctx); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			best = min(best, time.Since(began))
			after, err := b.usage(ctx)
			if err != nil {
				return err
			}
			used = usage{after.rows - before.rows, after.cpu - before.cpu}
		}
		mark := ""
		if best > q.limit {
			mark, missed = "  missed", missed+1
		}
		fmt.Fprintf(b.Out, "%-28s %10.0f %10.0f %14d %10d%s\n", q.name, float64(best.Microseconds())/1e3, float64(used.cpu.Microseconds())/1e3, used.rows, q.limit.Milliseconds(), mark)
	}
	if missed > 0 {
		return fmt.Errorf("%d questions took longer than they may", missed)
	}
	return nil
}

// usage is what the server and this program have used since they started.
type usage struct {
	rows uint64        // read by queries
	cpu  time.Duration // processor time
}

func (b *Bench) usage(ctx context.Context) (u usage, err error) {
	var micros uint64
	err = b.Conn.QueryRow(ctx, "SELECT sumIf(value, event = 'SelectedRows'), sumIf(value, event = 'OSCPUVirtualTimeMicroseconds') FROM system.events").Scan(&u.rows, &micros)
	if err != nil {
		return u, err
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	u.cpu = time.Duration(micros)*time.Microsecond + time.Duration(own.Utime.Nano()+own.Stime.Nano())
	return u, nil
}

// describe prints what the store holds, by table.
func (b *Bench) describe(ctx context.Context) error {
	rows, err := b.Conn.Query(ctx, `SELECT table, sum(rows) AS n, round(sum(bytes_on_disk) / 1e6) AS megabytes, round(sum(bytes_on_disk) / n, 1) AS per_row FROM system.parts
		WHERE active AND database = currentDatabase() GROUP BY table HAVING n > 0 ORDER BY megabytes DESC`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Fprintf(b.Out, "%-28s %12s %8s %10s\n", "table", "rows", "MB", "bytes/row")
	for rows.Next() {
		var table string
		var n uint64
		var megabytes, perRow float64
		if err := rows.Scan(&table, &n, &megabytes, &perRow); err != nil {
			return err
		}
		fmt.Fprintf(b.Out, "%-28s %12d %8.0f %10.1f\n", table, n, megabytes, perRow)
	}
	return rows.Err()
}

// discard drops a query's result and keeps the error.
func discard[T any](_ T, err error) error { return err }

func (b *Bench) questions() []question {
	m := b.Model
	end := firstInterval.AddDate(0, 0, b.Config.Days)
	all := read.Span{From: schema.InstantOf(firstInterval), To: schema.InstantOf(end)}
	f := m.Figures(Fabric, all)
	day := read.Span{From: schema.InstantOf(end.AddDate(0, 0, -1)), To: all.To}
	minutesSpan := read.Span{From: schema.InstantOf(end.AddDate(0, 0, -b.Config.MinutesDays)), To: all.To}
	const stall, link, second = schema.CreditStall, 20000, time.Second
	return []question{
		{"HotEpisodes", second, func(ctx context.Context) error { return discard(f.HotEpisodes(ctx, stall)) }},
		{"RegionSizes", second, func(ctx context.Context) error { return discard(f.RegionSizes(ctx, stall)) }},
		{"SizeSpread", second, func(ctx context.Context) error { return discard(f.SizeSpread(ctx, stall)) }},
		{"MeanSpread", second, func(ctx context.Context) error { return discard(f.MeanSpread(ctx, stall)) }},
		{"RegionDurations", second, func(ctx context.Context) error { return discard(f.RegionDurations(ctx, stall)) }},
		{"DurationSpread", second, func(ctx context.Context) error { return discard(f.DurationSpread(ctx, stall)) }},
		{"RegionTransitions", second, func(ctx context.Context) error { return discard(f.RegionTransitions(ctx, stall)) }},
		{"NetworkTransitions", second, func(ctx context.Context) error {
			return discard(f.NetworkTransitions(ctx, schema.NoMetric))
		}},
		{"NetworkTime", second, func(ctx context.Context) error {
			return discard(f.NetworkTime(ctx))
		}},
		{"NetworkSteps/6h", second, func(ctx context.Context) error { return discard(f.NetworkSteps(ctx, 6)) }},
		{"Network/day", second, func(ctx context.Context) error { return discard(m.Network(ctx, Fabric, day)) }},
		{"LinkTime", second, func(ctx context.Context) error { return discard(f.LinkTime(ctx, stall)) }},
		{"Congestion", second, func(ctx context.Context) error { return discard(f.Congestion(ctx)) }},
		{"CongestionPeaks", second, func(ctx context.Context) error { return discard(f.CongestionPeaks(ctx, stall)) }},
		{"Mitigations", second, func(ctx context.Context) error {
			return discard(f.Mitigations(ctx, read.MitigationWindow))
		}},
		{"Causes", second, func(ctx context.Context) error { return discard(f.Causes(ctx)) }},
		{"ForecastSkill", second, func(ctx context.Context) error { return discard(f.ForecastSkill(ctx)) }},
		{"JobExposures", second, func(ctx context.Context) error {
			return discard(f.JobExposures(ctx, schema.NoMetric))
		}},
		{"Completeness", second, func(ctx context.Context) error { return discard(f.Completeness(ctx)) }},
		{"TopLinks/20", second, func(ctx context.Context) error { return discard(f.TopLinks(ctx, 1, stall, 20)) }},
		{"LinkHistory/hours", second, func(ctx context.Context) error {
			return discard(f.LinkHistory(ctx, 1, stall, link, read.ByHours))
		}},
		{"LinkHistory/five minutes", second, func(ctx context.Context) error {
			return discard(m.Figures(Fabric, minutesSpan).LinkHistory(ctx, 1, stall, link, read.ByMinutes))
		}},
		{"LinkSeries/day", 200 * time.Millisecond, func(ctx context.Context) error {
			return discard(m.Figures(Fabric, day).LinkSeries(ctx, 1, stall, link))
		}},
	}
}
