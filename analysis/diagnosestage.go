package analysis

import (
	"slices"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// diagnoseStage diagnoses why regions are congested. Failures of links and
// devices that only counters show count like those from logs.
type diagnoseStage struct {
	graph    *topology.Graph
	cfg      diagnose.Config
	stage    *diagnose.Stage
	recalled []schema.Job // for the next step
}

func (s *diagnoseStage) Name() string { return s.stage.Name() }

func (s *diagnoseStage) Step(r *schema.IntervalResult) {
	jobs, failures := r.Jobs, r.Failures
	r.Jobs, r.Failures = slices.Concat(s.recalled, jobs), allFailures(r)
	s.stage.Step(r)
	s.recalled, r.Jobs, r.Failures = nil, jobs, failures
	nameRoots(r)
}

// nameRoots puts the kind of root that a diagnosis has determined into the region and its name.
func nameRoots(r *schema.IntervalResult) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		for j := range r.Regions {
			region := &r.Regions[j]
			if region.ID == d.Region && region.Metric == d.Metric && region.Root != nil && region.Root.Holds(d.Root) {
				region.Root.Kind, region.Name = d.Root.Kind, topology.RenameRoot(region.Name, d.Root.Kind)
			}
		}
	}
}

// allFailures returns the failures from logs, and those that other stages found and no log reports.
func allFailures(r *schema.IntervalResult) []schema.Failure {
	all := slices.Clone(r.Failures)
	said := make(map[schema.Failure]bool, len(all))
	for _, f := range all {
		said[withoutText(f)] = true
	}
	for i := range r.Events {
		e := &r.Events[i]
		f := schema.Failure{Fabric: e.Fabric, Time: schema.Instant(e.TimeNanos), Kind: e.Kind, Device: e.Device, Port: e.Port, Detail: e.Detail}
		if e.Kind.IsFailure() && !said[withoutText(f)] {
			all = append(all, f)
		}
	}
	return all
}

// withoutText returns the fields that identify a failure, whether from a log or from counters.
func withoutText(f schema.Failure) schema.Failure {
	f.Fabric, f.Detail = "", ""
	return f
}

func (s *diagnoseStage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	s.graph = g
	return s.stage.SetGraph(g, moved)
}

func (s *diagnoseStage) Save() schema.StageState { return s.stage.Save() }

func (s *diagnoseStage) Load(saved schema.StageState) error {
	stage, err := diagnose.New(s.graph, s.cfg)
	if err != nil {
		return err
	}
	if err := stage.Load(saved); err != nil {
		return err
	}
	s.stage = stage
	return nil
}

// recall informs the next step of jobs that began long ago.
func (s *diagnoseStage) recall(jobs []schema.Job) { s.recalled = jobs }

// Resume learns from an interval what Step would have learned.
func (s *diagnoseStage) Resume(in Interval) error {
	if in.Snapshot == nil {
		return nil
	}
	r := &schema.IntervalResult{Snapshot: in.Snapshot, Regions: in.Regions, Events: in.Feeds.Events, Jobs: s.recalled, Failures: in.Feeds.Failures, Traffic: in.Feeds.Traffic}
	r.Failures = allFailures(r)
	s.stage.Restore(r)
	s.recalled = nil
	return nil
}
