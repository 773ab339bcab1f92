package app

import (
	"context"

	"github.com/giverny/giverny/store/read"
)

// Search reads what is stored of a search of a fabric, and the anomalies that it
// found; read.ErrNotFound if there is none.
func (p *Process) Search(ctx context.Context, fabric, id string) (found read.Search, anomalies []read.Finding, err error) {
	if err := p.UseStore(); err != nil {
		return found, nil, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		m := read.New(p.db)
		if found, err = m.Search(ctx, fabric, id); err != nil {
			return err
		}
		anomalies, err = m.SearchFindings(ctx, fabric, id)
		return err
	})
	return found, anomalies, err
}
