package store

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
)

const feedbackTable = "feedback_audit"

// StoreFeedback keeps the actions of feedback for the audit. The same list stored
// again counts once. It tries until ctx ends.
func (db *DB) StoreFeedback(ctx context.Context, fabric string, actions []schema.FeedbackAction) error {
	n := len(actions)
	if n == 0 {
		return nil
	}
	rows := rowSet{n, []field{
		{"fabric", repeat(fabric, n)},
		{"time", each(actions, func(a *schema.FeedbackAction) time.Time { return a.Time.Time() })},
		{"sink", each(actions, func(a *schema.FeedbackAction) string { return a.Sink })},
		{"action", each(actions, func(a *schema.FeedbackAction) string { return a.Action })},
		{"target", each(actions, func(a *schema.FeedbackAction) string { return a.Target })},
		{"dry_run", each(actions, func(a *schema.FeedbackAction) bool { return a.DryRun })},
		{"outcome", each(actions, func(a *schema.FeedbackAction) string { return string(a.Outcome) })},
		{"reason", each(actions, func(a *schema.FeedbackAction) string { return a.Reason })},
		{"score", each(actions, func(a *schema.FeedbackAction) float64 { return a.Score })},
		{"before", each(actions, func(a *schema.FeedbackAction) string { return a.Before })},
		{"after", each(actions, func(a *schema.FeedbackAction) string { return a.After })},
		{"stored_at", repeat(db.now(), n)},
	}}
	return db.insert(ctx, feedbackTable, rows, auditKey(fabric, actions, func(a *schema.FeedbackAction) string {
		return fmt.Sprintf("%d %q %q %q %q", a.Time, a.Sink, a.Action, a.Target, a.Outcome)
	}), 0)
}
