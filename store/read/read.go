// Package read is the read model of the store: what the analysis stored comes out
// again as intervals, graphs, histories and the characterisation of Monet (NSDI
// 2020). The types are those of the HTTP API too; the questions are in query/. An
// interval that was stored under several versions of its fabric's graph counts
// once, as it was stored last.
//
// It writes nothing, keeps nothing between questions (but see Model.Over), and tries each
// question once.
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
	// ErrNotFound is returned where there is no such interval, graph or state.
	ErrNotFound = store.ErrNotFound
	// ErrTooExpensive is returned where a question about a span needs more time or
	// memory than it may have.
	ErrTooExpensive = fmt.Errorf("the question takes more than %v or %d MB of memory; ask about a shorter span", maxTime, maxMemory/1_000_000)
	// ErrNoTables is returned where the database, a table or a column is not there: while a new one is made or an old one
	// is brought up to date, or where nothing does that.
	ErrNoTables = errors.New("the tables of the store are being made or brought up to date; ask again, and see the log if this lasts")
)

// What a question about a span may cost the server.
const (
	maxTime      = 30 * time.Second
	maxMemory    = 2_000_000_000
	maxStatement = 16_000_000 // bytes
)

// Model answers questions about what is stored. It is safe for concurrent use.
type Model struct {
	db    *store.DB
	asked func(Statement) // nil: nothing is noted
	over  *rolledSpan     // nil: each question finds out what is rolled up
}

// rolledSpan is what is rolled up of one span, without and with links.
type rolledSpan struct {
	fabric   string
	from, to int64 // milliseconds since 1970
	rolled   [2]*store.Rolled
}

// New makes a model of what a database holds.
func New(db *store.DB) *Model { return &Model{db: db} }

// Over is a model for many questions about one span of a fabric: it finds out once, now,
// which hours of it roll-ups hold, where the model would for each question. Questions about other spans
// are answered as before.
func (m *Model) Over(ctx context.Context, fabric string, span Span) (*Model, error) {
	s := rolledSpan{fabric: fabric, from: ceilMillis(span.From), to: ceilMillis(span.To)}
	for i, links := range []bool{false, true} {
		var err error
		if s.rolled[i], err = m.db.Rolled(ctx, fabric, s.from, s.to, links); err != nil {
			return nil, err
		}
	}
	return &Model{m.db, m.asked, &s}, nil
}

// Statement is a statement that a question has put, with {name:Type} places for its
// parameters.
type Statement struct {
	Name       string         `json:"name"` // of its file, without .sql
	SQL        string         `json:"sql"`
	Parameters map[string]any `json:"parameters"`
}

// Noting is a model that calls asked with each statement that was answered.
func (m *Model) Noting(asked func(Statement)) *Model { return &Model{m.db, asked, m.over} }

// Span is the half-open stretch [From, To) of event time.
type Span struct {
	From schema.Instant `json:"from"`
	To   schema.Instant `json:"to"`
}

// SpanOf is the span of one interval.
func SpanOf(i schema.Interval) Span {
	return Span{schema.Instant(i.StartNanos), schema.Instant(i.EndNanos())}
}

// Args are the values of a query's {name:Type} places.
type Args map[string]any

// InSpan are the arguments of a query about the intervals of a fabric that start in
// a span.
func InSpan(fabric string, s Span) Args {
	return Args{"fabric": fabric, "from": ceilMillis(s.From), "to": ceilMillis(s.To)}
}

// With adds a value.
func (a Args) With(name string, value any) Args {
	a[name] = value
	return a
}

// ceilMillis keeps [from, to) exact: starts are whole milliseconds.
func ceilMillis(i schema.Instant) int64 {
	ms := int64(i) / 1e6
	if i%1e6 > 0 {
		ms++
	}
	return ms
}

//go:embed query/*.sql
var queries embed.FS

// parsed are the queries with what they take from roll-ups: {{.Counts "KIND"}},
// {{.RegionHours}}, {{.LinkDays}} and {{.LinkRollups "TABLE"}} stand for subqueries of store.Rolled.
var parsed = template.Must(template.New("").ParseFS(queries, "query/*.sql"))

// scope is what a query's text depends on.
type scope struct {
	*store.Rolled // nil for queries that take nothing from roll-ups
	Args          Args
}

// statement is query/NAME.sql as the server is sent it.
func statement(name string, s scope) string {
	var text strings.Builder
	if err := parsed.ExecuteTemplate(&text, name+".sql", s); err != nil {
		panic("store/read: " + err.Error()) // the folder is embedded above
	}
	return text.String()
}

// rows runs query/NAME.sql, in the way that how says, and scans what comes into T's
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

// exceedsLimits recognises the server's TIMEOUT_EXCEEDED, TOO_SLOW and
// MEMORY_LIMIT_EXCEEDED.
func exceedsLimits(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 159 || e.Code == 160 || e.Code == 241)
}

// lacksTables recognises the server's UNKNOWN_IDENTIFIER, UNKNOWN_TABLE and UNKNOWN_DATABASE.
func lacksTables(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 47 || e.Code == 60 || e.Code == 81)
}

// lookup answers a question about one interval or graph.
func lookup[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, scope{Args: a}, store.Question{})
}

// limits are the server's settings for a question about a span, whose statement may name
// thousands of hours.
func limits() map[string]any {
	return map[string]any{"max_execution_time": int(maxTime.Seconds()), "max_memory_usage": maxMemory, "max_query_size": maxStatement}
}

// Figure answers a question about a span, which may be long: it runs query/NAME.sql,
// within limits of time and memory, and scans each row by its columns' names into
// T's fields tagged `ch`.
func Figure[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, scope{Args: a}, store.Question{Settings: limits()})
}

// rolledUp is Figure for a question that takes hours from roll-ups where they hold.
func rolledUp[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rolledLinks[T](ctx, m, name, a, false)
}

// rolledLinks is rolledUp, about links where links is true.
func rolledLinks[T any](ctx context.Context, m *Model, name string, a Args, links bool) ([]T, error) {
	fabric, from, to := a["fabric"].(string), a["from"].(int64), a["to"].(int64)
	rolled, err := m.rolledIn(ctx, fabric, from, to, links)
	if err != nil {
		return nil, err
	}
	return rows[T](ctx, m, name, scope{rolled, a}, store.Question{Settings: limits()})
}

func (m *Model) rolledIn(ctx context.Context, fabric string, from, to int64, links bool) (*store.Rolled, error) {
	if o := m.over; o == nil || o.fabric != fabric || o.from != from || o.to != to {
		return m.db.Rolled(ctx, fabric, from, to, links)
	}
	if links {
		return m.over.rolled[1], nil
	}
	return m.over.rolled[0], nil
}

// convert makes an R of each row.
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

func instantOf(t time.Time) schema.Instant { return schema.Instant(t.UnixNano()) }

// decimal is a stored number as it was written, to the places that it has: 0.8 and not 0.800000011920929.
func decimal(stored float32) float64 {
	written, _ := strconv.ParseFloat(strconv.FormatFloat(float64(stored), 'g', -1, 32), 64) // what was formatted is a number
	return written
}

// numbers copies numbers to another type, which must be able to hold them.
func numbers[To, From ~int | ~int32 | ~uint32](in []From) []To {
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}
