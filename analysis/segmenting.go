package analysis

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// segmentStage finds the regions of a snapshot, and by them the state of the
// network.
type segmentStage struct {
	graph     *topology.Graph
	cfg       segment.Config
	segmenter *segment.Segmenter
}

func (s *segmentStage) Name() string { return "segment" }

func (s *segmentStage) Step(r *schema.IntervalResult) {
	found := s.segmenter.Step(r.Snapshot)
	r.Regions = make([]schema.Region, len(found))
	for i, region := range found { // the segmenter uses its memory again
		region.Links = slices.Clone(region.Links)
		if region.Box != nil {
			region.Box = &schema.Box{Min: slices.Clone(region.Box.Min), Max: slices.Clone(region.Box.Max)}
		}
		if region.Root != nil {
			root := *region.Root
			region.Root = &root
		}
		r.Regions[i] = region
	}
	s.graph.DescribeRegions(r.Regions)
	r.States = schema.NetworkStates(r.Snapshot, r.Regions)
}

func (s *segmentStage) SetGraph(g *topology.Graph, _ []schema.LinkID) error {
	segmenter, err := segment.New(g, s.cfg)
	if err != nil {
		return err
	}
	s.graph, s.segmenter = g, segmenter
	return nil
}
