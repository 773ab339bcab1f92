package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

const hourMillis = 3_600_000

// stretch is a half-open stretch of event time, in milliseconds since 1970.
type stretch struct{ from, to int64 }

// Rolled says what roll-ups hold of a span of a fabric: whole hours are taken from them, and
// the rest is counted. It is found out once, by DB.Rolled, and then makes the subqueries of
// any number of questions about the span; what is stored in between makes no difference to
// the hours that it takes from roll-ups. One that has no span makes none.
type Rolled struct {
	samples  bool        // only hours whose links are rolled up too
	fresh    []stretch   // whole hours whose roll-ups hold
	outdated []hourState // roll-ups of those hours that hold no longer
	days     []hourState // whole days of those hours: what their links have to be made of, Made where they are
	counted  []stretch   // the rest of the span
	seen     []stretch   // the rest, with the hour after each, which says what became of forecasts
}

// hourState is an hour, and what its roll-up has to be made of or, where there is one,
// was made of.
type hourState struct {
	Hour    int64  `ch:"hour"` // seconds since 1970
	MadeOf  uint64 `ch:"made_of"`
	Made    bool   `ch:"made"`
	Short   bool   `ch:"short"` // its intervals are short enough to be rolled up
	Samples bool   `ch:"with_samples"`
	Day     bool   `ch:"day"` // a day of links, that begins then
}

// Rolled finds out what roll-ups hold of the intervals that start in [from, to),
// milliseconds since 1970; with samples, which hours of links they hold.
func (db *DB) Rolled(ctx context.Context, fabric string, from, to int64, samples bool) (*Rolled, error) {
	return db.rolled(ctx, fabric, from, to, samples, false)
}

func (db *DB) rolled(ctx context.Context, fabric string, from, to int64, samples, exact bool) (*Rolled, error) {
	var states []hourState
	q := Question{Name: "rolled", Exact: exact, SQL: strings.Replace(rollupText("hours"), "{{hashes}}", rollupText("hashes"), 1),
		Parameters: map[string]any{"fabric": fabric, "from": from, "to": to, "days": samples, "kinds": len(countKinds)}}
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
	open := false                // hours without an interval in between belong to the stretch
	madeOf := map[int64]uint64{} // by day
	for _, s := range stored {
		holds := false
		var outdated []hourState
		for _, m := range made[s.Hour] {
			if m.MadeOf != s.MadeOf {
				outdated = append(outdated, m)
			} else if m.Samples || !samples {
				holds = s.Short
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

// findDays finds the days of which all is fresh, made of the sum of what their hours are
// made of.
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

// withoutDays takes nothing from days of links that are made, so that these can be taken
// by themselves.
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

// count makes a stretch one that is counted, in a span that ends at end.
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

// rolledFor is of hours, seconds since 1970, that are to be counted to be rolled up.
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

// countColumns are those of a kind's counts, as their table has them.
const countColumns = "graph_version, hour, metric, toInt64(x) AS x, toInt64(y) AS y, toUInt64(n) AS n, toFloat64(total) AS total, toFloat64(other) AS other"

// scope is the WITH clause of statements over what is counted: stale, its intervals.
func (r *Rolled) scope() string { return "WITH stale AS\n(\n" + r.text("stale") + "\n)\n" }

// within is the condition that a column lies in one of some stretches, whose bounds make
// writes.
func within(column string, stretches []stretch, bound func(int64) string) string {
	parts := make([]string, len(stretches))
	for i, s := range stretches {
		parts[i] = column + " >= " + bound(s.from) + " AND " + column + " < " + bound(s.to)
	}
	if len(parts) == 0 {
		return "false"
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func millisBound(ms int64) string { return fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", ms) }

func secondsBound(ms int64) string { return fmt.Sprintf("toDateTime(%d, 'UTC')", ms/1000) }

// text is a file of sql/rollup about the stretches that are counted.
func (r *Rolled) text(name string) string { return r.textOf(name, "true") }

// textOf is text, of the rows of links to which a condition applies.
func (r *Rolled) textOf(name, links string) string {
	return strings.NewReplacer("{{links}}", links, "{{counted}}", within("time", r.counted, millisBound), "{{seen}}", within("time", r.seen, millisBound)).Replace(rollupText(name))
}

// holds is the condition that a row of a table of roll-ups counts.
func (r *Rolled) holds() string {
	hours := within("time", r.fresh, secondsBound)
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

// union is a subquery over what is rolled up, and the rest, which is counted.
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

// Counts is a subquery that gives the counts of a kind (store/sql/rollup) in the span, for
// the parameter fabric: columns graph_version, hour (seconds since 1970), metric, x, y, n,
// total and other.
func (r *Rolled) Counts(kind string) string {
	return r.union(`SELECT graph_version, toInt64(toUnixTimestamp(time)) AS hour, toString(metric) AS metric, x, y, n, total, other
FROM (SELECT * FROM hour_counts WHERE kind = `+quoteText(kind)+`)`,
		"SELECT "+countColumns, r.text(kind))
}

// RegionHours is a subquery like Counts: the rows of region_hours, by hour in seconds.
func (r *Rolled) RegionHours() string {
	return r.union(`SELECT graph_version, toInt64(toUnixTimestamp(time)) AS hour, toString(metric) AS metric, region_id, severity, first, last, last_ms, intervals, max_size, max_mean, links
FROM region_hours`,
		"SELECT graph_version, hour, metric, region_id, severity, first, last, last_ms, toUInt32(intervals) AS intervals, max_size, max_mean, links", r.text("region_hours"))
}

// LinkRollups is a subquery like Counts: the rows of link_minutes or link_hours for the
// parameters metric and block, by their begin in seconds, with the links in between by the
// parameter bucket, 300 or 3600. It is for one with samples.
func (r *Rolled) LinkRollups(table string) string {
	return r.linkRollups(table, "metric = {metric:String} AND block = {block:UInt32}")
}

func (r *Rolled) linkRollups(table, links string) string {
	const columns = "measured, percent_sums, percent_maxima, rate_averages, rate_maxima"
	return r.union("SELECT graph_version, block, toInt64(toUnixTimestamp(time)) AS begin, "+columns+"\nFROM (SELECT * FROM "+table+" WHERE "+links+")",
		"SELECT graph_version, block, begin, "+columns, r.textOf("links", links))
}

// LinkDays is LinkRollups of all blocks by steps of no certain length, the longest there are:
// days, and hours where a day is not whole.
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
