// Package read is the read model of the store: it returns what the analysis stored as
// intervals, graphs, histories and the characterisation of Monet (NSDI 2020). Its types
// are also those of the HTTP API; the queries are in query/. An interval that was stored
// under several versions of its fabric's graph counts once, as it was last stored.
//
// It writes nothing, caches nothing between queries (except Figures.Prepare), and does
// not retry queries.
package read

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

var (
	// ErrNotFound is returned if there is no such interval, graph or state.
	ErrNotFound = store.ErrNotFound
	// ErrTooExpensive is returned if a query about a span exceeds its limits of
	// time or memory.
	ErrTooExpensive = fmt.Errorf("the query takes more than %v or %d MB of memory; request a shorter span", maxTime, maxMemory/1_000_000)
	// ErrNoTables is returned if the database, a table or a column is missing: while it is being created or migrated, or
	// because no process does so.
	ErrNoTables = errors.New("the tables of the store are being created or migrated; retry, and see the log if this persists")
)

// Limits of a query about a span.
const (
	maxTime      = 30 * time.Second
	maxMemory    = 2_000_000_000
	maxStatement = 16_000_000 // bytes
)

// Model runs queries against the store. It is safe for concurrent use.
type Model struct {
	db    *store.DB
	asked func(Statement) // called with each statement; may be nil
}

// New returns a Model of a database.
func New(db *store.DB) *Model { return &Model{db: db} }

// Statement is a statement of a query, with {name:Type} placeholders for its
// parameters.
type Statement struct {
	Name       string         `json:"name"` // of its file, without .sql
	SQL        string         `json:"sql"`
	Parameters map[string]any `json:"parameters"`
}

// Noting returns a model that calls asked with each statement that succeeded.
func (m *Model) Noting(asked func(Statement)) *Model { return &Model{m.db, asked} }

// Span is the half-open range [From, To) of event time.
type Span struct {
	From schema.Instant `json:"from"`
	To   schema.Instant `json:"to"`
}

// SpanOf is the span of one interval.
func SpanOf(i schema.Interval) Span {
	return Span{schema.Instant(i.StartNanos), schema.Instant(i.EndNanos())}
}

// Past is the span from within ago until now, with room for clocks that are ahead.
func Past(now time.Time, within time.Duration) Span {
	return Span{schema.InstantOf(now.Add(-within)), schema.InstantOf(now.Add(time.Hour))}
}

// Args are the values of a query's {name:Type} placeholders.
type Args map[string]any

// inSpan returns the arguments of a query about a fabric's intervals that start in
// a span.
func inSpan(fabric string, s Span) Args {
	return Args{"fabric": fabric, "from": ceilMillis(s.From), "to": ceilMillis(s.To)}
}

// inNanos is inSpan in nanoseconds, for rows that do not start at whole milliseconds.
func inNanos(fabric string, s Span) Args {
	return Args{"fabric": fabric, "from": int64(s.From), "to": int64(s.To)}
}

// with adds a value and returns a.
func (a Args) with(name string, value any) Args {
	a[name] = value
	return a
}

// ceilMillis rounds up, which keeps [from, to) exact: intervals start at whole milliseconds.
func ceilMillis(i schema.Instant) int64 {
	ms := int64(i) / 1e6
	if i%1e6 > 0 {
		ms++
	}
	return ms
}

//go:embed query/*.sql
var queries embed.FS

// parsed are the query templates. {{.Counts "KIND"}}, {{.RegionHours}}, {{.LinkDays}} and
// {{.LinkRollups "TABLE"}} stand for subqueries of store.Rolled, which use roll-ups.
var parsed = template.Must(template.New("").ParseFS(queries, "query/*.sql"))

// scope is the data of a query template.
type scope struct {
	*store.Rolled // nil for queries that do not use roll-ups
	Args          Args
}

// statement renders query/NAME.sql.
func statement(name string, s scope) string {
	var text strings.Builder
	if err := parsed.ExecuteTemplate(&text, name+".sql", s); err != nil {
		panic("store/read: " + err.Error()) // the folder is embedded above
	}
	return text.String()
}

// rows runs query/NAME.sql with the options of how, and scans each row into T's
// fields.
func rows[T any](ctx context.Context, m *Model, name string, s scope, how store.Question) ([]T, error) {
	how.Name, how.SQL, how.Parameters = name, statement(name, s), s.Args
	var found []T
	if err := m.db.Select(ctx, how, &found); err != nil {
		if exceedsLimits(err) {
			err = errors.Join(ErrTooExpensive, err)
		}
		if lacksTables(err) {
			err = errors.Join(ErrNoTables, err)
		}
		return nil, fmt.Errorf("fabric %v: %w", s.Args["fabric"], err)
	}
	if m.asked != nil {
		m.asked(Statement{name, how.SQL, s.Args})
	}
	return found, nil
}

// exceedsLimits recognises ClickHouse's TIMEOUT_EXCEEDED, TOO_SLOW and
// MEMORY_LIMIT_EXCEEDED.
func exceedsLimits(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 159 || e.Code == 160 || e.Code == 241)
}

// lacksTables recognises ClickHouse's UNKNOWN_IDENTIFIER, UNKNOWN_TABLE and UNKNOWN_DATABASE.
func lacksTables(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 47 || e.Code == 60 || e.Code == 81)
}

// lookup runs a query about one interval or graph, without limits.
func lookup[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, scope{Args: a}, store.Question{})
}

// limits are the server settings for a query about a span, whose statement may name
// thousands of hours.
func limits() map[string]any {
	return map[string]any{"max_execution_time": int(maxTime.Seconds()), "max_memory_usage": maxMemory, "max_query_size": maxStatement}
}

// limited runs query/NAME.sql, a query about a span that may be long, within limits
// of time and memory, and scans each row by column name into T's fields tagged `ch`.
func limited[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, scope{Args: a}, store.Question{Settings: limits()})
}

// convert converts each row to an R.
func convert[Row, R any](rows []Row, err error, one func(*Row) (R, error)) ([]R, error) {
	if err != nil {
		return nil, err
	}
	out := make([]R, len(rows))
	for i := range rows {
		if out[i], err = one(&rows[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decimal returns the shortest decimal that the stored number represents: 0.8, not 0.800000011920929.
func decimal(stored float32) float64 {
	written, _ := strconv.ParseFloat(strconv.FormatFloat(float64(stored), 'g', -1, 32), 64) // cannot fail: FormatFloat wrote it
	return written
}

// numbers copies numbers to another type, which must be able to represent them.
func numbers[To, From ~int | ~int32 | ~uint32](in []From) []To {
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}
