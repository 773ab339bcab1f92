package app

import (
	"context"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Marks calls do with the nodes of all fabrics that schedulers are asked to avoid, according to the audit, and with a
// function that restores some of them and audits that.
func (p *Process) Marks(ctx context.Context, do func(ctx context.Context, marks []feedback.Mark, lift Lift) error) error {
	if len(p.cfg.Fabrics) == 0 {
		return errNoFabrics
	}
	if err := p.useStoreBeside(); err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error {
		cfg := p.cfg.Acting()
		var audited []schema.FeedbackAction
		for _, f := range p.cfg.Fabrics {
			found, err := read.New(p.db).FeedbackMarks(ctx, f.Name)
			if err != nil {
				return err
			}
			audited = append(audited, found...)
		}
		marks, err := cfg.Marks(audited)
		if err != nil {
			return err
		}
		return do(ctx, marks, func(ctx context.Context, marks []schema.FeedbackAction, reason string) ([]schema.FeedbackAction, error) {
			return feedback.Lift(ctx, &cfg, marks, reason, p.db, p.log)
		})
	})
}

// Lift restores nodes and returns the outcome for each.
type Lift func(ctx context.Context, marks []schema.FeedbackAction, reason string) ([]schema.FeedbackAction, error)
