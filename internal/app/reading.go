package app

import (
	"context"

	"github.com/giverny/giverny/store/read"
)

// Reading calls do with the store's read model of a fabric, or of the only one.
func (p *Process) Reading(ctx context.Context, fabric string, do func(ctx context.Context, m *read.Model, fabric string) error) error {
	f, err := FabricNamed(p.cfg.Fabrics, fabric)
	if err != nil {
		return err
	}
	if err := p.useStoreBeside(); err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error { return do(ctx, read.New(p.db), f.Name) })
}
