package analysis

import (
	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// Stage is one step in the analysis of an interval. It is pure, and is called
// from one goroutine.
type Stage interface {
	// Name is the stage's, as its saved state is known by.
	Name() string
	// Step reads what the stages before it left in the result, and adds its own.
	// What it adds is the result's: the stage does not use that memory again.
	Step(r *schema.IntervalResult)
	// SetGraph goes on with another version of the fabric: moved[l] is the number
	// that link l of the old version has in g, or schema.NoLink.
	SetGraph(g *topology.Graph, moved []schema.LinkID) error
}

// Learner is a stage with a memory of earlier intervals.
type Learner interface {
	Stage
	// Save gives all that was learned. Load takes it in a new process, and refuses
	// what is damaged, of a later form or of another fabric.
	Save() schema.StageState
	Load(schema.StageState) error
	// Resume takes an interval as an earlier process stored it, in order, after what
	// Load brought.
	Resume(stored Interval) error
}

// newStages makes the stages, in the order in which they run.
func newStages(g *topology.Graph, cfg Config) ([]Stage, error) {
	s, err := segment.New(g, cfg.Segment)
	if err != nil {
		return nil, err
	}
	t, err := tracking.New(g, cfg.track(s.MinLinks()))
	if err != nil {
		return nil, err
	}
	h, err := tracking.NewHotspots(g, cfg.Hot)
	if err != nil {
		return nil, err
	}
	m, err := linkhealth.New(g, cfg.Health)
	if err != nil {
		return nil, err
	}
	d, err := diagnose.New(g, cfg.Diagnose)
	if err != nil {
		return nil, err
	}
	return []Stage{
		&segmentStage{graph: g, cfg: cfg.Segment, segmenter: s, memory: segment.NewMemory(g, cfg.Segment)},
		&trackStage{graph: g, cfg: cfg.track(s.MinLinks()), tracker: t},
		&hotspotStage{graph: g, cfg: cfg.Hot, hotspots: h},
		&healthStage{graph: g, cfg: cfg.Health, monitor: m},
		&coverageStage{minCoverage: cfg.MinCoverage},
		&diagnoseStage{graph: g, cfg: cfg.Diagnose, stage: d},
	}, nil
}

// moveStages takes every stage to another version of the fabric.
func moveStages(stages []Stage, from, to *topology.Graph) error {
	moved := topology.Moved(from, to)
	for _, s := range stages {
		if err := s.SetGraph(to, moved); err != nil {
			return err
		}
	}
	return nil
}
