package schema

// FeedbackAction is an action that feedback took, would have taken or refused to
// take, for the audit.
type FeedbackAction struct {
	Fabric  string          `json:"fabric"`
	Time    Instant         `json:"time"`
	Sink    string          `json:"sink"`   // slurm, kubernetes, webhook NAME, ...
	Action  string          `json:"action"` // mark, relieve, reapply, release, deliver
	Target  string          `json:"target"` // the node, or the id of the message delivered
	DryRun  bool            `json:"dry_run,omitempty"`
	Outcome FeedbackOutcome `json:"outcome"`
	Reason  string          `json:"reason"` // human-readable
	Score   float64         `json:"score"`  // of the node; 0 if it has none
	Before  string          `json:"before,omitempty"`
	After   string          `json:"after,omitempty"`
}

// FeedbackOutcome is the outcome of an action.
type FeedbackOutcome string

// Outcomes. A dry run that would have acted is FeedbackDone with DryRun set.
const (
	FeedbackDone    FeedbackOutcome = "done"
	FeedbackFailed  FeedbackOutcome = "failed"
	FeedbackRefused FeedbackOutcome = "refused"
)

// FeedbackOutcomes lists all outcomes.
var FeedbackOutcomes = [...]FeedbackOutcome{FeedbackDone, FeedbackFailed, FeedbackRefused}
