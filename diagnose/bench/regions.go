package bench

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// Regions finds and tracks the regions of a fabric's snapshots: the stages of the analysis before the diagnosis.
type Regions struct {
	graph     *topology.Graph
	segmenter *segment.Segmenter
	memory    *segment.Memory
	tracker   *tracking.Tracker
}

// NewRegions returns the stages with their default configurations.
func NewRegions(g *topology.Graph) (*Regions, error) {
	segmenter, err := segment.New(g, segment.DefaultConfig())
	if err != nil {
		return nil, err
	}
	track := tracking.DefaultConfig()
	track.Limits = tracking.Limits{Links: segmenter.MinLinks(), MeanPercent: segment.DefaultConfig().MinMeanPercent}
	tracker, err := tracking.New(g, track)
	return &Regions{graph: g, segmenter: segmenter, memory: segment.NewMemory(g, segment.DefaultConfig()), tracker: tracker}, err
}

// Step returns the result of an interval with its regions.
func (f *Regions) Step(snap *schema.Snapshot) *schema.IntervalResult {
	r := &schema.IntervalResult{Snapshot: snap}
	for _, region := range f.memory.Step(snap, f.segmenter.Step(snap)) { // copied, since Step reuses its memory
		r.Regions = append(r.Regions, region.Clone())
	}
	f.graph.DescribeRegions(r.Regions)
	f.tracker.Step(snap.Interval, r.Regions)
	return r
}

// Verdicts pairs the regions of Low and above with the judge's diagnoses and the truth.
func Verdicts(r *schema.IntervalResult, truthOf func(*schema.Region) Truth) (verdicts []Verdict) {
	for i := range r.Regions {
		if r.Regions[i].Severity < schema.Low {
			continue
		}
		v := Verdict{Interval: r.Snapshot.Interval, Region: r.Regions[i], Truth: truthOf(&r.Regions[i])}
		if d := slices.IndexFunc(r.Diagnoses, func(d schema.Diagnosis) bool { return d.Region == v.Region.ID && d.Metric == v.Region.Metric }); d >= 0 {
			v.Got = r.Diagnoses[d]
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
