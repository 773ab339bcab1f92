package read

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

// NewestFeedback returns the n newest feedback actions in a span, done, dry-run or
// refused, the newest first.
func (m *Model) NewestFeedback(ctx context.Context, fabric string, s Span, n int) ([]schema.FeedbackAction, error) {
	type row struct {
		Time    time.Time `ch:"time"`
		Sink    string    `ch:"sink"`
		Action  string    `ch:"action"`
		Target  string    `ch:"target"`
		DryRun  bool      `ch:"dry_run"`
		Outcome string    `ch:"outcome"`
		Reason  string    `ch:"reason"`
		Score   float64   `ch:"score"`
		Before  string    `ch:"before"`
		After   string    `ch:"after"`
	}
	found, err := limited[row](ctx, m, "feedback_audit", inSpan(fabric, s).with("rows", uint32(n)))
	return convert(found, err, func(r *row) (schema.FeedbackAction, error) {
		return schema.FeedbackAction{Fabric: fabric, Time: schema.InstantOf(r.Time), Sink: r.Sink, Action: r.Action, Target: r.Target, DryRun: r.DryRun,
			Outcome: schema.FeedbackOutcome(r.Outcome), Reason: r.Reason, Score: r.Score, Before: r.Before, After: r.After}, nil
	})
}

// FeedbackMarks returns, for each node of a fabric that schedulers were asked to avoid and that, according to the
// audit, has not been restored since, the last action that marked it.
func (m *Model) FeedbackMarks(ctx context.Context, fabric string) ([]schema.FeedbackAction, error) {
	type row struct {
		Sink   string    `ch:"sink"`
		Target string    `ch:"target"`
		Time   time.Time `ch:"time"`
		Action string    `ch:"action"`
		Reason string    `ch:"reason"`
		Score  float64   `ch:"score"`
		Before string    `ch:"before"`
		After  string    `ch:"after"`
	}
	found, err := limited[row](ctx, m, "feedback_marks", Args{"fabric": fabric})
	return convert(found, err, func(r *row) (schema.FeedbackAction, error) {
		return schema.FeedbackAction{Fabric: fabric, Time: schema.InstantOf(r.Time), Sink: r.Sink, Action: r.Action, Target: r.Target,
			Outcome: schema.FeedbackDone, Reason: r.Reason, Score: r.Score, Before: r.Before, After: r.After}, nil
	})
}
