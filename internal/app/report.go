package app

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/report"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Report creates the congestion report of a fabric for a span from stored results. It is an error if the span has none.
func (p *Process) Report(ctx context.Context, fabric string, span read.Span, interval time.Duration) (made *report.Report, err error) {
	if err := p.useStoreBeside(); err != nil {
		return nil, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		model := read.New(p.db)
		made, err = report.Make(ctx, model, fabric, span, interval, schema.InstantOf(time.Now()))
		if errors.Is(err, report.ErrNothing) {
			return nothingStored(ctx, model, fabric)
		}
		return err
	})
	return made, err
}
