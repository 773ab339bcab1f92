package app

import (
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/topology"
)

// feedbackStopShare is the share of a stage's stop time for restoring the schedulers:
// the rest is for the audit.
const feedbackStopShare = 0.8

// makeFeedback creates feedback. Its faults show in the process state but do not affect
// readiness.
func (parts *Parts) makeFeedback() (err error) {
	p := parts.process
	graphs, maxAge := make([]*topology.Graph, len(parts.fabrics)), map[string]time.Duration{}
	for i, f := range parts.fabrics {
		graphs[i], maxAge[f.Name] = f.Graph, actWithin(&f.Analysis)
	}
	parts.feedback, err = feedback.New(p.cfg.Acting(), graphs, feedback.Deps{Log: p.log, Registerer: p.registerer, Audit: p.db,
		StopTimeout: time.Duration(feedbackStopShare * float64(p.cfg.StopTimeout)), MaxAge: maxAge, Shared: parts.leases != nil})
	if err != nil {
		return err
	}
	parts.feedback.Register(p.mux)
	for _, part := range parts.feedback.Parts() {
		p.ops.AddState(part.Name, part.State)
	}
	return nil
}

// lateResults is an allowance for the delay of results beyond the configured waiting times.
const lateResults = 5 * time.Minute

// actWithin is the maximum age of an interval of a fabric that is acted on.
func actWithin(cfg *analysis.Config) time.Duration {
	return lateResults + 3*cfg.Window.Interval + cfg.Lateness() + cfg.Hold
}

// feedbackSteps returns the parts of feedback, followed by their audit.
func (parts *Parts) feedbackSteps() []Step {
	var acting Step
	for _, part := range parts.feedback.Parts() {
		acting = append(acting, lifecycle.Supervised(lifecycle.Stage{Name: part.Name, Run: part.Run}, parts.process.log))
	}
	acting = append(acting, parts.policyStages()...)
	if len(acting) == 0 {
		return nil
	}
	return []Step{acting, {{Name: "feedback audit", Run: parts.feedback.Audit}}}
}
