package app

import (
	"context"

	"github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/store/read"
)

// Launching calls back with what launches searches in a fabric, or in the only one,
// once the store is ready.
func (p *Process) Launching(ctx context.Context, fabric string, do func(context.Context, *launch.Launcher) error) error {
	if err := p.UseStore(); err != nil {
		return err
	}
	l, err := p.Launcher(fabric)
	if err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error { return do(ctx, l) })
}

// Searching calls back with the store's read model of a fabric, or of the only one.
func (p *Process) Searching(ctx context.Context, fabric string, do func(ctx context.Context, m *read.Model, fabric string) error) error {
	f, err := fabricNamed(p.cfg, fabric)
	if err != nil {
		return err
	}
	if err := p.UseStore(); err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error { return do(ctx, read.New(p.db), f.Name) })
}
