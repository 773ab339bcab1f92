package analysis

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// trackStage gives regions their identity and forecast.
type trackStage struct {
	graph   *topology.Graph
	cfg     tracking.Config
	tracker *tracking.Tracker
}

func (s *trackStage) Name() string { return "track" }

// Step skips an interval that measured nothing: silence does not end a region, and nothing is learned from it.
func (s *trackStage) Step(r *schema.IntervalResult) {
	if !measuresStalls(r.Snapshot) {
		return
	}
	tracked := s.tracker.StepOf(r.Snapshot, r.Regions)
	forecasts := slices.Clone(tracked.Forecasts)
	for i := range r.Regions {
		r.Regions[i].Forecast = &forecasts[i]
	}
	r.Events = append(r.Events, tracked.Events...)
	r.Network, r.Transitions = tracked.Network, slices.Clone(tracked.Transitions)
	if e := tracked.Congestion; e != nil && !e.Ended {
		on := e.CongestionEvent
		r.Congestion = &on
	}
	r.Skill.Next, r.Skill.Later = s.tracker.Skill()
}

func (s *trackStage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	s.graph = g
	s.tracker.SetGraph(g, moved)
	return nil
}

func (s *trackStage) Save() schema.StageState {
	return stateOf(s, s.tracker.Save())
}

func (s *trackStage) Load(saved schema.StageState) error {
	return restore(&s.tracker, saved, func(b []byte) (*tracking.Tracker, error) { return tracking.Load(s.graph, s.cfg, b) })
}

func (s *trackStage) Resume(in Interval) error {
	if in.Snapshot != nil && !measuresStalls(in.Snapshot) {
		return nil
	}
	return s.tracker.Restore(in.Interval, in.Regions)
}
