package analysis

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// segmentStage finds the regions of a snapshot, keeps those of the previous interval that persist, and derives the state
// of the network from them.
type segmentStage struct {
	graph     *topology.Graph
	cfg       segment.Config
	segmenter *segment.Segmenter
	memory    *segment.Memory
}

func (s *segmentStage) Name() string { return "segment" }

func (s *segmentStage) Step(r *schema.IntervalResult) {
	found := s.segmenter.Step(r.Snapshot)
	if measuresStalls(r.Snapshot) {
		found = s.memory.Step(r.Snapshot, found)
	}
	r.Regions = make([]schema.Region, len(found))
	for i, region := range found { // the segmenter reuses its memory
		r.Regions[i] = region.Clone()
	}
	s.graph.DescribeRegions(r.Regions)
	r.States = schema.NetworkStates(r.Snapshot, r.Regions)
}

func (s *segmentStage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	segmenter, err := segment.New(g, s.cfg)
	if err != nil {
		return err
	}
	s.graph, s.segmenter = g, segmenter
	s.memory.SetGraph(g, moved)
	return nil
}

func (s *segmentStage) Save() schema.StageState {
	return stateOf(s, s.memory.Save())
}

func (s *segmentStage) Load(saved schema.StageState) error {
	if err := checkForm(saved); err != nil {
		return err
	}
	return s.memory.Load(saved.Bytes)
}

// Resume skips an interval that measured nothing, like Step.
func (s *segmentStage) Resume(in Interval) error {
	if in.Snapshot == nil || measuresStalls(in.Snapshot) {
		s.memory.Resume(in.Snapshot, in.Regions)
	}
	return nil
}
