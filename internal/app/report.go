package app

import (
	"context"
	"time"

	"github.com/giverny/giverny/report"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Report creates the congestion report of a fabric for a span from stored results.
func (p *Process) Report(ctx context.Context, fabric string, span read.Span, interval time.Duration) (made *report.Report, err error) {
	if err := p.useStoreBeside(); err != nil {
		return nil, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		made, err = report.Make(ctx, read.New(p.db), fabric, span, interval, schema.Instant(time.Now().UnixNano()))
		return err
	})
	return made, err
}
