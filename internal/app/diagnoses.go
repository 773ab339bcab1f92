package app

import (
	"context"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Diagnoses reads what is stored of a fabric's intervals that start in a span: the
// diagnoses of one region or, where that is 0, of all.
func (p *Process) Diagnoses(ctx context.Context, fabric string, span read.Span, region uint64) (found []schema.Diagnosis, err error) {
	if err := p.UseStore(); err != nil {
		return nil, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		found, err = read.New(p.db).Diagnoses(ctx, fabric, span, region)
		return err
	})
	return found, err
}

// withStore runs a task once the store is ready. It needs UseStore.
func (p *Process) withStore(ctx context.Context, task func(context.Context) error) error {
	return p.RunOnce(ctx, func(ctx context.Context) error {
		ready := p.db.Ping
		if p.engine != nil { // no other process keeps its tables up to date
			ready = p.awaitStore
		}
		if err := ready(ctx); err != nil {
			return err
		}
		return task(ctx)
	})
}
