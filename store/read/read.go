// Package read is the read model of the store: what the analysis stored comes out
// again as intervals, graphs, histories and the characterisation of Monet (NSDI
// 2020). The types are those of the HTTP API too; the questions are in query/. An
// interval that was stored under several versions of its fabric's graph counts
// once, as it was stored last.
//
// It writes nothing, caches nothing, and tries each question once.
package read

import (
	"context"
	"embed"
	"errors"
	"fmt"
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
)

// What a question about a span may cost the server.
const (
	maxTime   = 30 * time.Second
	maxMemory = 2_000_000_000
)

// Model answers questions about what is stored. It is safe for concurrent use.
type Model struct{ db *store.DB }

// New makes a model of what a database holds.
func New(db *store.DB) *Model { return &Model{db} }

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

// parsed are the queries with what they take from roll-ups: {{counts "KIND"}},
// {{region_hours}} and {{link_rollups "TABLE"}} stand for subqueries of store.
var parsed = template.Must(template.New("").Funcs(template.FuncMap{
	"counts": store.CountsOf, "region_hours": store.RegionHours, "link_rollups": store.LinkRollups,
}).ParseFS(queries, "query/*.sql"))

// statement is query/NAME.sql as the server is sent it.
func statement(name string, a Args) string {
	var text strings.Builder
	if err := parsed.ExecuteTemplate(&text, name+".sql", a); err != nil {
		panic("store/read: " + err.Error()) // the folder is embedded above
	}
	return text.String()
}

// rows runs query/NAME.sql, in the way that how says, and scans what comes into T's
// fields.
func rows[T any](ctx context.Context, m *Model, name string, a Args, how store.Question) ([]T, error) {
	how.Name, how.SQL, how.Parameters = name, statement(name, a), a
	var found []T
	if err := m.db.Select(ctx, how, &found); err != nil {
		if exceedsLimits(err) {
			err = errors.Join(ErrTooExpensive, err)
		}
		return nil, fmt.Errorf("fabric %v: %w", a["fabric"], err)
	}
	return found, nil
}

// exceedsLimits recognises the server's TIMEOUT_EXCEEDED, TOO_SLOW and
// MEMORY_LIMIT_EXCEEDED.
func exceedsLimits(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e) && (e.Code == 159 || e.Code == 160 || e.Code == 241)
}

// lookup answers a question about one interval or graph.
func lookup[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, a, store.Question{})
}

// Figure answers a question about a span, which may be long: it runs query/NAME.sql,
// within limits of time and memory, and scans each row by its columns' names into
// T's fields tagged `ch`.
func Figure[T any](ctx context.Context, m *Model, name string, a Args) ([]T, error) {
	return rows[T](ctx, m, name, a, store.Question{Settings: map[string]any{"max_execution_time": int(maxTime.Seconds()), "max_memory_usage": maxMemory}})
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

// numbers copies numbers to another type, which must be able to hold them.
func numbers[To, From ~int | ~int32 | ~uint32](in []From) []To {
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}
