package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/internal/sqlquote"
)

const hourMillis = 3_600_000

// stretch is a half-open range of event time, in milliseconds since 1970.
type stretch struct{ from, to int64 }

// Rolled says which part of a time span of a fabric is read from roll-ups (whole hours), and
// which is counted from the rows. DB.Rolled determines it once; it then makes the subqueries
// of any number of queries about the span. Later writes do not change which hours it takes
// from roll-ups. A Rolled without a span makes no subqueries.
type Rolled struct {
	samples  bool        // use only hours whose links are rolled up too
	fresh    []stretch   // whole hours with valid roll-ups
	outdated []hourState // stale roll-ups of those hours
	days     []hourState // whole days of those hours with the MadeOf that their links need; Made if such a roll-up exists
	counted  []stretch   // the rest of the span
	seen     []stretch   // counted, plus the hour after each part, which shows how forecasts turned out
}

// hourState is an hour with the MadeOf (a hash of its intervals) that its roll-up
// needs or, if Made, that a stored roll-up has.
type hourState struct {
	Hour    int64  `ch:"hour"` // seconds since 1970
	MadeOf  uint64 `ch:"made_of"`
	Made    bool   `ch:"made"`
	Short   bool   `ch:"short"`   // its intervals are short enough to roll up
	Expired bool   `ch:"expired"` // its rows may be deleted
	Samples bool   `ch:"with_samples"`
	Day     bool   `ch:"day"` // a roll-up of links by day; Hour is the day's first
}

// Rolled determines which roll-ups exist for the intervals that start in [from,
// to), milliseconds since 1970; with samples, only hours whose links are rolled
// up count.
func (db *DB) Rolled(ctx context.Context, fabric string, from, to int64, samples bool) (*Rolled, error) {
	return db.rolled(ctx, fabric, from, to, samples, false)
}

func (db *DB) rolled(ctx context.Context, fabric string, from, to int64, samples, exact bool) (*Rolled, error) {
	var states []hourState
	q := Question{Name: "rolled", Exact: exact, SQL: strings.Replace(rollupText("hours"), "{{hashes}}", rollupText("hashes"), 1),
		Parameters: map[string]any{"fabric": fabric, "from": from, "to": to + hourMillis, "days": samples, "kinds": len(countKinds), "kept": db.rowsKeptSince()}}
	if err := db.Select(ctx, q, &states); err != nil {
		return nil, fmt.Errorf("fabric %s: %w", fabric, err)
	}
	return rolledOf(from, to, states, samples), nil
}

func rolledOf(from, to int64, states []hourState, samples bool) *Rolled {
	r := &Rolled{samples: samples}
	made := map[int64][]hourState{}
	var stored, days []hourState
	for _, s := range states {
		if s.Day {
			days = append(days, s)
		} else if s.Made {
			made[s.Hour] = append(made[s.Hour], s)
		} else {
			stored = append(stored, s)
		}
	}
	slices.SortFunc(stored, func(a, b hourState) int { return cmp.Compare(a.Hour, b.Hour) })
	open := false                // hours without intervals do not split a stretch
	madeOf := map[int64]uint64{} // by day
	for _, s := range stored {
		// What is rolled up of links does not look ahead. Other counts of the last hour of the span would look beyond it: its
		// rows are counted instead while there are any.
		within := samples || s.Expired || s.Hour*1000+2*hourMillis <= to
		holds := false
		var outdated []hourState
		for _, m := range made[s.Hour] {
			if m.MadeOf != s.MadeOf {
				outdated = append(outdated, m)
			} else if m.Samples || !samples {
				holds = s.Short && within
			}
		}
		if !holds {
			open = false
			continue
		}
		r.outdated = append(r.outdated, outdated...)
		if !open {
			r.fresh = append(r.fresh, stretch{s.Hour * 1000, 0})
		}
		open, r.fresh[len(r.fresh)-1].to = true, s.Hour*1000+hourMillis
		madeOf[dayOf(s.Hour)] += s.MadeOf
	}
	if samples {
		r.findDays(madeOf, days)
	}
	at := from
	for _, f := range r.fresh {
		r.count(at, f.from, to)
		at = f.to
	}
	r.count(at, to, to)
	return r
}

// findDays finds the days all of whose hours are fresh. A day's MadeOf is the sum of
// that of its hours.
func (r *Rolled) findDays(madeOf map[int64]uint64, made []hourState) {
	const day = 24 * hourMillis
	for _, f := range r.fresh {
		for at := (f.from + day - 1) / day * day; at+day <= f.to; at += day {
			d := hourState{Hour: at / 1000, MadeOf: madeOf[at/day], Day: true}
			d.Made = slices.ContainsFunc(made, func(m hourState) bool { return m.Hour == d.Hour && m.MadeOf == d.MadeOf })
			r.days = append(r.days, d)
		}
	}
}

// withoutDays returns r without the days of links that are rolled up, which are read
// separately.
func (r *Rolled) withoutDays() *Rolled {
	rest := *r
	rest.fresh = nil
	for _, f := range r.fresh {
		for _, d := range r.days {
			if begin := d.Hour * 1000; d.Made && begin >= f.from && begin < f.to {
				if begin > f.from {
					rest.fresh = append(rest.fresh, stretch{f.from, begin})
				}
				f.from = begin + 24*hourMillis
			}
		}
		if f.from < f.to {
			rest.fresh = append(rest.fresh, f)
		}
	}
	return &rest
}

// count marks a stretch as to be counted, in a span that ends at end.
func (r *Rolled) count(from, to, end int64) {
	if from >= to {
		return
	}
	r.counted = append(r.counted, stretch{from, to})
	if n := len(r.seen); n > 0 && r.seen[n-1].to >= from {
		r.seen[n-1].to = min(to+hourMillis, end)
		return
	}
	r.seen = append(r.seen, stretch{from, min(to+hourMillis, end)})
}

// rolledFor returns a Rolled that counts the given hours, in order to roll them up.
func rolledFor(hours []staleHour) *Rolled {
	r, end := &Rolled{}, int64(0)
	sorted := slices.SortedFunc(slices.Values(hours), func(a, b staleHour) int { return cmp.Compare(a.Hour, b.Hour) })
	for _, h := range sorted {
		end = max(end, h.Hour*1000+2*hourMillis)
	}
	for _, h := range sorted {
		r.count(h.Hour*1000, h.Hour*1000+hourMillis, end)
	}
	return r
}

// countColumns are the columns of a kind's counts, with the types of their table.
const countColumns = "graph_version, hour, metric, toInt64(x) AS x, toInt64(y) AS y, toUInt64(n) AS n, toFloat64(total) AS total, toFloat64(other) AS other"

// scope is the WITH clause of statements that count rows: stale are the intervals to count.
func (r *Rolled) scope() string { return "WITH stale AS\n(\n" + r.text("stale") + "\n)\n" }

// within is the SQL condition that the time lies in one of the stretches; bound formats their
// bounds.
func within(stretches []stretch, bound func(int64) string) string {
	parts := make([]string, len(stretches))
	for i, s := range stretches {
		parts[i] = "time >= " + bound(s.from) + " AND time < " + bound(s.to)
	}
	if len(parts) == 0 {
		return "false"
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func millisBound(ms int64) string { return fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", ms) }

func secondsBound(ms int64) string { return fmt.Sprintf("toDateTime(%d, 'UTC')", ms/1000) }

// text is a file of sql/rollup, applied to the stretches that are counted.
func (r *Rolled) text(name string) string { return r.textOf(name, "true") }

// textOf is text, limited to the rows of links that satisfy a condition.
func (r *Rolled) textOf(name, links string) string {
	return strings.NewReplacer("{{links}}", links, "{{counted}}", within(r.counted, millisBound), "{{seen}}", within(r.seen, millisBound)).Replace(rollupText(name))
}

// holds is the SQL condition that a row of a roll-up table is valid.
func (r *Rolled) holds() string {
	hours := within(r.fresh, secondsBound)
	markers := fmt.Sprintf(" AND kinds >= %d", len(countKinds))
	if r.samples {
		markers += " AND samples"
	}
	const hour = "toUnixTimestamp(time) - toUnixTimestamp(time) % 3600"
	text := "fabric = {fabric:String} AND " + hours + "\n    AND (" + hour +
		", made_of) IN (SELECT toUnixTimestamp(time), made_of FROM rollups WHERE fabric = {fabric:String} AND " + hours + markers + ")"
	if len(r.outdated) == 0 {
		return text
	}
	pairs := make([]string, len(r.outdated))
	for i, o := range r.outdated {
		pairs[i] = fmt.Sprintf("(%d, %d)", o.Hour, o.MadeOf)
	}
	return text + "\n    AND (" + hour + ", made_of) NOT IN (" + strings.Join(pairs, ", ") + ")"
}

// union is a subquery over the rolled-up hours and the counted rest.
func (r *Rolled) union(rolled, counted, rest string) string {
	var parts []string
	if len(r.fresh) > 0 {
		parts = append(parts, rolled+"\nWHERE "+r.holds())
	}
	if len(r.counted) > 0 || len(r.fresh) == 0 {
		parts = append(parts, counted+"\nFROM\n(\n"+r.scope()+"SELECT * FROM\n(\n"+rest+"\n)\n)")
	}
	return "(\n" + strings.Join(parts, "\nUNION ALL\n") + "\n)"
}

// Counts is a subquery for the counts of a kind (store/sql/rollup) in the span, with the
// parameter fabric: columns graph_version, hour (seconds since 1970), metric, x, y, n,
// total and other.
func (r *Rolled) Counts(kind string) string {
	return r.union(`SELECT graph_version, toInt64(toUnixTimestamp(time)) AS hour, toString(metric) AS metric, x, y, n, total, other
FROM (SELECT * FROM hour_counts WHERE kind = `+sqlquote.Text(kind)+`)`,
		"SELECT "+countColumns, r.text(kind))
}

// RegionHours is a subquery like Counts for the rows of region_hours; hour is in seconds since
// 1970.
func (r *Rolled) RegionHours() string {
	return r.union(`SELECT graph_version, toInt64(toUnixTimestamp(time)) AS hour, toString(metric) AS metric, region_id, severity, first, last, last_ms, intervals, max_size, max_mean, links
FROM region_hours`,
		"SELECT graph_version, hour, metric, region_id, severity, first, last, last_ms, toUInt32(intervals) AS intervals, max_size, max_mean, links", r.text("region_hours"))
}

// LinkRollups is a subquery like Counts for the rows of link_minutes or link_hours, with
// the parameters metric and block; begin is in seconds since 1970. Links that are counted
// are grouped by the parameter bucket, 300 or 3600 s. r must have been made with samples.
func (r *Rolled) LinkRollups(table string) string {
	return r.linkRollups(table, "metric = {metric:String} AND block = {block:UInt32}")
}

func (r *Rolled) linkRollups(table, links string) string {
	const columns = "measured, percent_sums, percent_maxima, rate_averages, rate_maxima"
	return r.union("SELECT graph_version, block, toInt64(toUnixTimestamp(time)) AS begin, "+columns+"\nFROM (SELECT * FROM "+table+" WHERE "+links+")",
		"SELECT graph_version, block, begin, "+columns, r.textOf("links", links))
}

// LinkDays is LinkRollups for all blocks, by the longest steps available: days, and hours
// where a day is not complete.
func (r *Rolled) LinkDays() string {
	rest := r.withoutDays().linkRollups("link_hours", "metric = {metric:String}")
	var pairs []string
	for _, d := range r.days {
		if d.Made {
			pairs = append(pairs, fmt.Sprintf("(%d, %d)", d.Hour, d.MadeOf))
		}
	}
	if len(pairs) == 0 {
		return rest
	}
	const columns = "graph_version, block, begin, measured, percent_sums, percent_maxima, rate_averages, rate_maxima"
	return "(\nSELECT " + strings.Replace(columns, "begin", "toInt64(toUnixTimestamp(time)) AS begin", 1) + `
FROM link_days
WHERE fabric = {fabric:String} AND metric = {metric:String} AND (toUnixTimestamp(time), made_of) IN (` + strings.Join(pairs, ", ") + `)
UNION ALL
SELECT ` + columns + "\nFROM " + rest + "\n)"
}
