package dashboards

import (
	"time"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// runSpan is the length of the span if none is given.
const runSpan = 7 * 24 * time.Hour

// runQuestion are the parameters of queries about runs: of probes inside hosts, of collectives.
type runQuestion struct {
	ofFabric
	From *moment `query:"from" doc:"Runs that ended at this time or later; default: 7 days before to."`
	To   *moment `query:"to" doc:"Runs that ended before this time; default: now."`
}

// ask runs a query about a fabric and a span, by default of the given length.
func ask[T any](d *Dashboards, fabric string, from, to *moment, length time.Duration, of func(fabric string, s read.Span) ([]T, error)) (inSpan, []T, error) {
	f, err := d.fabricOf(fabric)
	if err != nil {
		return inSpan{}, nil, err
	}
	s, err := d.spanBackFrom(from, to, length)
	if err != nil {
		return inSpan{}, nil, err
	}
	list, err := of(f.name, s)
	return inSpan{s.From, s.To}, append([]T{}, list...), err
}

// spanBackFrom returns the span that ends at to, or now, and begins at from or, without it, length before its end (but
// at most max_span).
func (d *Dashboards) spanBackFrom(from, to *moment, length time.Duration) (read.Span, error) {
	s := read.Span{To: schema.InstantOf(time.Now())}
	if to != nil {
		s.To = schema.Instant(*to)
	}
	s.From = max(schema.Instant(earliest), s.To-schema.Instant(min(length, d.cfg.MaxSpan)))
	if from != nil {
		s.From = schema.Instant(*from)
	}
	if s.From >= s.To {
		return s, problem.BadRequest("from must be before to")
	}
	return s, d.checkSpan(s, d.cfg.MaxSpan)
}
