package analysis

import (
	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// Stage is one step in the analysis of an interval. It is pure, and called from
// one goroutine.
type Stage interface {
	// Name is the stage's name, which also identifies its saved state.
	Name() string
	// Step reads what earlier stages left in the result, and adds its own
	// results. The result owns that memory: the stage does not reuse it.
	Step(r *schema.IntervalResult)
	// SetGraph switches to another version of the fabric: moved[l] is the number
	// that link l of the old version has in g, or schema.NoLink.
	SetGraph(g *topology.Graph, moved []schema.LinkID) error
}

// Learner is a stage with a memory of earlier intervals.
type Learner interface {
	Stage
	// Save returns everything learned. Load restores it in a new process, and
	// rejects a state that is damaged, of a later format or of another fabric.
	Save() schema.StageState
	Load(schema.StageState) error
	// Resume learns from an interval that an earlier process stored. Calls are in
	// order, after Load.
	Resume(stored Interval) error
}

// newStages returns the stages, in the order in which they run.
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
	health := &healthStage{graph: g, cfg: cfg.Health, monitor: m}
	return []Stage{
		&segmentStage{graph: g, cfg: cfg.Segment, segmenter: s, memory: segment.NewMemory(g, cfg.Segment)},
		&trackStage{graph: g, cfg: cfg.track(s.MinLinks()), tracker: t},
		&hotspotStage{graph: g, cfg: cfg.Hot, hotspots: h},
		health,
		&coverageStage{minCoverage: cfg.MinCoverage, links: g.NumLinks(), health: health},
		&diagnoseStage{graph: g, cfg: cfg.Diagnose, stage: d},
	}, nil
}

// moveStages switches every stage to another version of the fabric.
func moveStages(stages []Stage, from, to *topology.Graph) error {
	moved := topology.Moved(from, to)
	for _, s := range stages {
		if err := s.SetGraph(to, moved); err != nil {
			return err
		}
	}
	return nil
}
