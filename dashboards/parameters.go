package dashboards

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// moment is a time in a query: RFC 3339, or milliseconds since 1970.
type moment schema.Instant

// latestMillis is the latest time in milliseconds, within the range of nanoseconds: the year 2200.
const latestMillis = int64(read.Newest) / 1e6

// earliest is the earliest valid time: 0 means none.
const earliest = moment(time.Millisecond)

// UnmarshalText parses either form, from 1970 on.
func (m *moment) UnmarshalText(text []byte) error {
	if ms, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		if ms < 0 || ms > latestMillis {
			return fmt.Errorf("%d: want milliseconds since 1970, up to the year 2200", ms)
		}
		if ms >= 1e9 && ms < 1e10 {
			return fmt.Errorf("%d: want milliseconds since 1970, and this is in the first months of 1970; if it is in seconds, append 000", ms)
		}
		*m = max(moment(ms*1e6), earliest)
		return nil
	}
	if err := (*schema.Instant)(m).UnmarshalText(text); err != nil {
		if strings.Contains(string(text), " ") { // in a URL query, + stands for a space
			return fmt.Errorf("%w, or milliseconds since 1970; in a URL, write the + before a time zone as %%2B", err)
		}
		return fmt.Errorf("%w, or milliseconds since 1970", err)
	}
	if *m < 0 || *m > moment(read.Newest) {
		return fmt.Errorf("time %q: want one from 1970 to 2200", text)
	}
	*m = max(*m, earliest)
	return nil
}

// ofFabric are the parameters of operations on one fabric.
type ofFabric struct {
	Fabric string `path:"fabric" doc:"Name of a fabric."`
}

// inVersion adds a version of the graph.
type inVersion struct {
	Version *read.Version `query:"version" doc:"Version of the graph that numbers the links, 16 hexadecimal digits; default: that of the newest interval."`
}

// overSpan are the parameters of operations on a fabric over time.
type overSpan struct {
	ofFabric
	From      *moment `query:"from" doc:"Start of the span: RFC 3339, or milliseconds since 1970; default: a day before its end."`
	To        *moment `query:"to" doc:"End of the span, exclusive; default: the end of the newest interval."`
	Intervals int     `query:"intervals" min:"1" max:"10000" doc:"Length of the span in intervals, instead of from."`
}

// ofStall adds a metric, which must be a stall metric.
type ofStall struct {
	overSpan
	Metric schema.Metric `query:"metric" required:"true" doc:"a stall metric, such as credit_stall"`
}

func (p *ofStall) check() error {
	if !p.Metric.IsStall() {
		return problem.BadRequest("metric: want a stall metric, such as credit_stall")
	}
	return nil
}

// fabricOf returns the fabric with a name.
func (d *Dashboards) fabricOf(name string) (*fabric, error) {
	if f := d.fabrics[name]; f != nil {
		return f, nil
	}
	return nil, problem.NotFound("unknown fabric; GET %s/fabrics lists them", Prefix)
}

// question is a resolved query about a fabric over time.
type question struct {
	fabric *fabric
	span   read.Span
}

// defaultSpan is the length of the span if none is given.
const defaultSpan = schema.Instant(24 * time.Hour)

// question resolves the fabric and the span of a request.
func (d *Dashboards) question(ctx context.Context, p *overSpan) (q question, err error) {
	if q.fabric, err = d.fabricOf(p.Fabric); err != nil {
		return q, err
	}
	if p.From != nil && p.Intervals > 0 {
		return q, problem.BadRequest("intervals: give either intervals or from, not both")
	}
	if p.To != nil {
		q.span.To = schema.Instant(*p.To)
	} else {
		newest, err := d.model.LastStored(ctx, q.fabric.name)
		q.span.To = schema.Instant(newest.EndNanos())
		if errors.Is(err, read.ErrNotFound) {
			q.span.To, err = schema.InstantOf(time.Now()), nil
		}
		if err != nil {
			return q, err
		}
	}
	switch {
	case p.From != nil:
		q.span.From = schema.Instant(*p.From)
	case p.Intervals > 0:
		q.span.From = q.span.To - schema.Instant(p.Intervals)*schema.Instant(q.fabric.interval)
	default:
		q.span.From = q.span.To - defaultSpan
	}
	q.span.From = max(schema.Instant(earliest), q.span.From)
	return q, d.checkSpan(q.span, d.cfg.MaxSpan)
}

// checkSpan rejects a span that is longer than allowed.
func (d *Dashboards) checkSpan(span read.Span, most time.Duration) error {
	if span.From > span.To {
		return problem.BadRequest("from: %v is after to, %v", span.From, span.To)
	}
	if length := time.Duration(span.To - span.From); length > most {
		return problem.BadRequest("from %v to %v is %.6g hours: want at most %.6g, or raise dashboards.max_span", span.From, span.To, length.Hours(), most.Hours())
	}
	return nil
}

// versionOf returns the version that a request names, which must exist; by default that of the newest interval, or of the graph
// in force if nothing is stored.
func (d *Dashboards) versionOf(ctx context.Context, f *fabric, p inVersion) (read.Version, error) {
	if p.Version != nil {
		_, err := f.graphs.of(ctx, *p.Version)
		return *p.Version, err
	}
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		return read.Version(f.graphs.current().Version()), nil
	}
	return read.Version(stored.GraphVersion), err
}
