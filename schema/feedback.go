package schema

// FeedbackAction is one thing that feedback did, would have done or refused to do,
// for the audit.
type FeedbackAction struct {
	Fabric  string          `json:"fabric"`
	Time    Instant         `json:"time"`
	Sink    string          `json:"sink"`   // slurm, kubernetes, webhook NAME, ...
	Action  string          `json:"action"` // mark, relieve, reapply, release, deliver
	Target  string          `json:"target"` // the node, or the id of what was delivered
	DryRun  bool            `json:"dry_run,omitempty"`
	Outcome FeedbackOutcome `json:"outcome"`
	Reason  string          `json:"reason"` // for a person
	Score   float64         `json:"score"`  // of the node; 0 where there is none
	Before  string          `json:"before,omitempty"`
	After   string          `json:"after,omitempty"`
}

// FeedbackOutcome is what became of an action.
type FeedbackOutcome string

// Outcomes. A dry run that would have acted is FeedbackDone with DryRun set.
const (
	FeedbackDone    FeedbackOutcome = "done"
	FeedbackFailed  FeedbackOutcome = "failed"
	FeedbackRefused FeedbackOutcome = "refused"
)

// FeedbackOutcomes lists them.
var FeedbackOutcomes = [...]FeedbackOutcome{FeedbackDone, FeedbackFailed, FeedbackRefused}
