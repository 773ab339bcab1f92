package analysis

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// hotspotStage measures how long links stay hot.
type hotspotStage struct {
	graph    *topology.Graph
	cfg      tracking.HotspotConfig
	hotspots *tracking.Hotspots
}

func (s *hotspotStage) Name() string { return "hotspots" }

func (s *hotspotStage) Step(r *schema.IntervalResult) {
	s.hotspots.Step(r.Snapshot)
	r.Hot, r.Episodes = slices.Clone(s.hotspots.Longest()), slices.Clone(s.hotspots.Episodes())
}

func (s *hotspotStage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	s.graph = g
	s.hotspots.SetGraph(g, moved)
	return nil
}

func (s *hotspotStage) Save() schema.StageState {
	return stateOf(s, s.hotspots.Save())
}

func (s *hotspotStage) Load(saved schema.StageState) error {
	return restore(&s.hotspots, saved, func(b []byte) (*tracking.Hotspots, error) { return tracking.LoadHotspots(s.graph, s.cfg, b) })
}

func (s *hotspotStage) Resume(in Interval) error {
	if snap := in.Snapshot; snap != nil && snap.GraphVersion == s.graph.Version() && snap.Links == s.graph.NumLinks() {
		s.hotspots.Step(snap)
	}
	return nil
}
