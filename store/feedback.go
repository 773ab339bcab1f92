package store

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

const feedbackTable = "feedback_audit"

// StoreFeedback stores feedback actions for the audit, each once. It retries until ctx ends.
func (db *DB) StoreFeedback(ctx context.Context, fabric string, actions []schema.FeedbackAction) error {
	return auditedActions.store(ctx, db, fabric, actions)
}

// actionKey deduplicates feedback actions.
type actionKey struct {
	At      int64  `ch:"at"`
	Sink    string `ch:"sink"`
	Action  string `ch:"action"`
	Target  string `ch:"target"`
	Outcome string `ch:"outcome"`
}

var auditedActions = audited[schema.FeedbackAction, actionKey]{table: feedbackTable, columns: "toUnixTimestamp64Nano(time) AS at, sink, action, target, outcome", by: "time", of: "DateTime64(9, 'UTC')",
	value: func(a *schema.FeedbackAction) string {
		return a.Time.Time().UTC().Format("2006-01-02 15:04:05.000000000")
	},
	key: func(a *schema.FeedbackAction) actionKey {
		return actionKey{int64(a.Time), a.Sink, a.Action, a.Target, string(a.Outcome)}
	},
	fields: actionFields}

func actionFields(actions []schema.FeedbackAction) []field {
	return []field{
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
	}
}
